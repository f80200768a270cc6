"""Kernels: every usable row on every shape, counted one by one, from the operators' test programs built as benches."""
import json
import re
import subprocess
from concurrent.futures import ThreadPoolExecutor

OWN_TIER = {"cortex-m55": "mve", "cortex-m4": "dsp", "cortex-m3": "scalar", "cortex-m0plus": "scalar"}
NEAR, FEW = 1.02, 100  # a row that costs less than NEAR times the cheapest one, or FEW cycles more, is as good
VARIANT = 1000  # tests number the variants of a case with this step


def run(argv, **more):
    done = subprocess.run([str(x) for x in argv], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, **more)
    if done.returncode:
        raise RuntimeError(f"{' '.join(map(str, argv))}: exit {done.returncode}\n{done.stdout[-2000:]}")
    return done.stdout


def operators(a, root):
    names = sorted(p.parent.name for p in root.glob("ops/*/test.cc"))
    return [n for n in names if not a.only or n in a.only]


def rows_of(root, op):
    """[(tier, kernel)], best first."""
    return re.findall(r"^KERNEL\((\w+), (\w+),", (root / "ops" / op / "kernels.def").read_text(), re.M)


def shape_names(root, op):
    """The comments of bench.inc; none for operators without one."""
    path = root / "ops" / op / "bench.inc"
    if not path.is_file():
        return []
    return re.findall(r"^\{.*\},\s*// (.*)$", path.read_text(), re.M)


def build(a, root, core, names):
    tree = a.build / core
    run(["cmake", "--preset", core, "-B", tree], cwd=root)
    run(["cmake", "--build", tree, "--parallel", a.jobs, "--target", *(f"{n}_bench" for n in names)], cwd=root)
    return tree


def symbols(elf):
    fields = (line.split() for line in run(["arm-none-eabi-nm", elf]).splitlines())
    return {f[2]: int(f[0], 16) & ~1 for f in fields if len(f) == 3}


def count(a, root, core, elf, plugin, work):
    """[(case, kernel, instructions, cycles)] in the order in which they ran."""
    out = work / f"{elf.name}-{core}.counts"
    at = symbols(elf)
    options = f"{plugin},out={out},begin={at['corten_bench_begin']:x},end={at['corten_bench_end']:x},each=1"
    text = run(["bash", root / "test/board/qemu.sh", core, elf, "-plugin", options])
    ran = re.findall(r"^bench (\d+) (\w+)$", text, re.M)
    blocks = json.loads(run([a.corten, "cycles", elf, out, "--target", core]))
    if len(ran) != len(blocks) or not ran:
        raise RuntimeError(f"{elf}: {len(ran)} runs, {len(blocks)} of them counted")
    return [(int(case), kernel, b["instructions"], b["est_cycles"]) for (case, kernel), b in zip(ran, blocks)]


def grouped(ran, order, names):
    """{shape: {kernel: (instructions, cycles)}}. A case is over when its number changes or the rows start anew."""
    shapes, last = {}, None
    for case, kernel, *cost in ran:
        if last is None or case != last[0] or order[kernel] <= order[last[1]]:
            shape = names[case % VARIANT] if case % VARIANT < len(names) else f"case {case}"
            while shape in shapes:
                shape += "'"
            shapes[shape] = {}
        shapes[shape][kernel] = tuple(cost)
        last = case, kernel
    return shapes


def measure(a, root, work):
    names = operators(a, root)
    plugin = work / "qemu_count.so"
    run(["cc", "-O2", "-shared", "-fPIC", root / "tools/qemu_count.c", "-o", plugin])
    todo = []
    for core in a.cores:
        tree = build(a, root, core, names)
        todo += [(core, op, tree / f"{op}_bench") for op in names]
    with ThreadPoolExecutor(a.jobs) as pool:
        done = list(pool.map(lambda t: count(a, root, t[0], t[2], plugin, work), todo))
    a.shapes = {}  # {op: {core: {shape: {kernel: cost}}}}
    measured = {core: {} for core in a.cores}
    for (core, op, _), ran in zip(todo, done):
        order = {kernel: i for i, (_, kernel) in enumerate(rows_of(root, op))}
        names_of_op = shape_names(root, op)
        shapes = a.shapes.setdefault(op, {})[core] = grouped(ran, order, names_of_op)
        for shape, costs in shapes.items():
            for kernel, (instructions, cycles) in costs.items():
                add(measured[core], f"{kernel}: {shape if names_of_op else 'all cases'}", instructions, cycles)
    return measured, True


def add(rows, name, instructions, cycles):
    row = rows.setdefault(name, {"instructions": 0, "est_cycles": 0})
    row["instructions"] += instructions
    row["est_cycles"] += cycles


def show_operator(op, of_core, root):
    """Shapes of real layers row by row; then where the first usable row is not the cheapest, and rows that win nowhere."""
    rows = rows_of(root, op)
    wins = {kernel: 0 for _, kernel in rows}
    notes, named = [], bool(shape_names(root, op))
    for core, shapes in of_core.items():
        for shape, costs in shapes.items():
            cheapest = min(costs, key=lambda k: costs[k][1])
            chosen = next(iter(costs))
            wins[cheapest] += 1
            best = costs[cheapest][1]
            for kernel, (instructions, cycles) in costs.items() if named else ():
                mark = " *" if kernel == cheapest else ""
                print(f"{core:14} {shape:34} {kernel:40} {instructions:>12,} {cycles:>12,} {cycles / best:>7.2f}{mark}")
            if costs[chosen][1] > max(NEAR * best, best + FEW):
                notes.append(f"{core}, {shape}: {chosen} comes first with {costs[chosen][1]:,} cycles, {cheapest} takes {best:,}")
    own = {OWN_TIER[core] for core in of_core}
    notes += [f"{kernel} wins on no shape" for tier, kernel in rows if tier in own and not wins[kernel]]
    return notes


def show(measured, a, root):
    """Every usable row, first usable row first: instructions, estimated cycles, these as a multiple of the cheapest row's (*)."""
    notes = []
    for op, of_core in a.shapes.items():
        notes += [f"{op}: {n}" for n in show_operator(op, of_core, root)]
    print("\n".join(["", *(notes or ["every row wins somewhere, and the first usable row is the cheapest everywhere"]), ""]))
