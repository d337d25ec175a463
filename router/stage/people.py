"""The directory, once for every story: each has a tenant of its own, and so sees no other."""

from router.directory.file import FileDirectory
from router.domain.principals import People, Principal


class EveryTenant(FileDirectory):
    """The default tenant's people, whatever tenant is asked about."""

    async def find(self, tenant: str, user: str) -> Principal | None:
        """The person with this id, in that tenant, or None."""
        return next((one for one in self.everyone(tenant) if one.id == user), None)

    def everyone(self, tenant: str = "") -> list[Principal]:
        """All people, in that tenant, ordered by id."""
        there = super().everyone()
        return [one.model_copy(update={"tenant": tenant}) for one in there] if tenant else there

    @classmethod
    def of(cls, directory: People) -> "EveryTenant":
        """The same people."""
        return cls(directory.everyone())
