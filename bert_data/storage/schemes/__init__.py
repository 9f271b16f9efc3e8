"""Schemes of URIs: each file has the classes of one store, which `file_systems.SCHEMES` names."""
