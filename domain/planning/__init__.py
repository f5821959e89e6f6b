"""Who works when and where: what a conflict is, which plan is best, and why; values in, values out."""
