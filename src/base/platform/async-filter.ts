/** Filters with a test that may wait. The tests run one after the other, so that many items ask for few at a time. */
export async function filterAsync<Item>(
  items: readonly Item[],
  keeps: (item: Item) => boolean | Promise<boolean>,
): Promise<readonly Item[]> {
  const kept: Item[] = []
  for (const item of items) if (await keeps(item)) kept.push(item)
  return kept
}

/** The first item for which the test is true. */
export async function findAsync<Item>(
  items: readonly Item[],
  isMeant: (item: Item) => boolean | Promise<boolean>,
): Promise<Item | undefined> {
  for (const item of items) if (await isMeant(item)) return item
  return undefined
}

/** Tells whether the test is true for one of the items. It ends with the first one. */
export async function someAsync<Item>(
  items: readonly Item[],
  isMeant: (item: Item) => boolean | Promise<boolean>,
): Promise<boolean> {
  for (const item of items) if (await isMeant(item)) return true
  return false
}
