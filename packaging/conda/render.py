"""Renders the recipe for each variant, as `rattler-build build --render-only` does, which PyPI has as a library alone."""
import pathlib

import rattler_build

folder = pathlib.Path(__file__).parent
recipe = rattler_build.Stage0Recipe.from_file(folder / "recipe.yaml")
variants = recipe.render(rattler_build.VariantConfig.from_file(folder / "variants.yaml"))
for variant in variants:
    rendered = variant.recipe.to_dict()
    print(rendered["package"], rendered["build"]["string"], rendered["requirements"]["run"])
if len(variants) != 2:
    raise SystemExit(f"{len(variants)} packages instead of 2")
