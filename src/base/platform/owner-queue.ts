/**
 * Lets owners take turns at what waits: an owner whose item is taken moves to the end of the round, so an owner with
 * thousands of items delays another owner by one of them. The items of one owner keep their order.
 */

interface Taken<Owner, Item> {
  readonly owner: Owner
  readonly item: Item
}

export class OwnerQueue<Item, Owner = string> {
  /** No list is empty. */
  private readonly lists = new Map<Owner, Item[]>()
  private count = 0

  /** The number of items of all owners. */
  get size(): number {
    return this.count
  }

  countOf(owner: Owner): number {
    return this.lists.get(owner)?.length ?? 0
  }

  /** True if an item of another owner waits. */
  hasOthersThan(owner: Owner): boolean {
    return this.lists.size > (this.lists.has(owner) ? 1 : 0)
  }

  /** Puts the item behind those of its owner. An owner who had none is the last of the round. */
  add(owner: Owner, item: Item): void {
    this.listOf(owner).push(item)
    this.count += 1
  }

  /** Puts the item before those of its owner. */
  putBack(owner: Owner, item: Item): void {
    this.listOf(owner).unshift(item)
    this.count += 1
  }

  /** Returns the next item of the owner, which stays. */
  peek(owner: Owner): Item | undefined {
    return this.lists.get(owner)?.[0]
  }

  /** Takes an item of the first owner of the round who may have one. */
  takeNext(mayHave: (owner: Owner) => boolean = () => true): Taken<Owner, Item> | undefined {
    for (const owner of this.lists.keys()) {
      const item = mayHave(owner) ? this.take(owner) : undefined
      if (item !== undefined) return { owner, item }
    }
    return undefined
  }

  /** Takes the next item of the owner, who moves to the end of the round. */
  take(owner: Owner): Item | undefined {
    const list = this.lists.get(owner)
    const item = list?.shift()
    if (list === undefined || item === undefined) return undefined
    this.lists.delete(owner)
    if (list.length > 0) this.lists.set(owner, list)
    this.count -= 1
    return item
  }

  /** Takes all items. */
  clear(): Item[] {
    const items = [...this.lists.values()].flat()
    this.lists.clear()
    this.count = 0
    return items
  }

  private listOf(owner: Owner): Item[] {
    const list = this.lists.get(owner) ?? []
    this.lists.set(owner, list)
    return list
  }
}
