/** A tree of parse5 as a list that can be compared: every node with its depth, text that touches joined. */

/** `hrefOf`: what stands for the href of a link; `pixelOf`: is an image with this source the pixel, to be left out? */
export function readTree(document, { hrefOf, pixelOf }) {
  const nodes = []
  let pixels = 0
  const walk = (node, depth) => {
    const attributes = Object.fromEntries((node.attrs ?? []).map(({ name, value }) => [name, value]))
    if (node.nodeName === 'img' && pixelOf(attributes.src)) {
      pixels += 1
      return
    }
    if ((node.nodeName === 'a' || node.nodeName === 'area') && attributes.href !== undefined) {
      attributes.href = hrefOf(attributes.href)
    }
    const last = nodes.at(-1)
    if (node.nodeName === '#text' && last?.name === '#text' && last.depth === depth) last.text += node.value
    else nodes.push({ depth, name: node.nodeName, attributes, text: node.value ?? node.data ?? node.name ?? '' })
    for (const child of node.content?.childNodes ?? node.childNodes ?? []) walk(child, depth + 1)
  }
  walk(document, 0)
  return { nodes, pixels }
}

/** The first difference in words; null: there is none. */
export function treeDifference(before, after) {
  for (let at = 0; at < Math.max(before.length, after.length); at += 1) {
    const [one, other] = [JSON.stringify(before[at]), JSON.stringify(after[at])]
    if (one !== other) return `${one ?? 'nothing'} became ${other ?? 'nothing'}`.slice(0, 600)
  }
  return null
}
