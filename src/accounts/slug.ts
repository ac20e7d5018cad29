/**
 * The short name of a workspace for addresses: lower case, words joined by `-`, made
 * unique by a number: `acme`, `acme-2`.
 */
export function buildUniqueSlug(name: string, taken: (slug: string) => boolean): string {
  const words = name
    .normalize('NFKD')
    // By way of capitals: that is how ß becomes ss.
    .toUpperCase()
    .toLowerCase()
    .replace(/\p{M}/gu, '')
    .match(/[a-z0-9]+/g)
  const base = (words ?? ['workspace']).join('-').slice(0, 50)
  if (!taken(base)) return base
  let number = 2
  while (taken(`${base}-${number}`)) number += 1
  return `${base}-${number}`
}
