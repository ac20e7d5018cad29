/** Type assertions (`x as T`), where the compiler takes our word: `as const` and renamed imports do not count. */
import ts from 'typescript'
import type { Source } from './layering.js'
import { parseSource } from './parse-source.js'

/** Each as `src/a.ts:3: value as Name`. */
export function findCasts(source: Source): readonly string[] {
  const file = parseSource(source)
  const found: string[] = []
  const walk = (node: ts.Node): void => {
    if (ts.isAsExpression(node) && !ts.isConstTypeReference(node.type)) {
      const line = file.getLineAndCharacterOfPosition(node.getStart()).line + 1
      found.push(`${source.path}:${line}: ${node.getText().replace(/\s+/g, ' ')}`)
    }
    ts.forEachChild(node, walk)
  }
  walk(file)
  return found
}
