"""`.pt2` and `.corten` files in Model Explorer: `corten view FILE`, or `model-explorer --extensions=corten.model_explorer`.

Needs the extra: pip install "corten[view]".
"""
