"""Feishu (Lark): event callbacks in, interactive cards out."""
