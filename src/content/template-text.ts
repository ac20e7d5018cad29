/**
 * The text of a template, taken apart: what stands as it is, and the variables in it. Pure.
 *
 * `{{name}}` and `{{{name}}}`, with blanks inside the braces or without; a name is letters,
 * digits, `_` and `-`, in words with dots between them. Whatever else looks like a template
 * language is no variable and stays in the text as it was written. One pass, linear in the
 * length of the text.
 */

/** Between its braces; equal ones of a text are one object. */
export interface Variable {
  readonly name: string
  /** The words of its name. */
  readonly path: readonly string[]
  /** Three braces: in HTML its value is not escaped. */
  readonly raw: boolean
}

export interface TemplateText {
  readonly pieces: readonly (string | Variable)[]
  /** Octets of what stands as it is. */
  readonly literalBytes: number
  /** How often each variable is there. */
  readonly uses: ReadonlyMap<Variable, number>
}

/** The link by which whoever reads a message ends them: its value is ours. */
export const UNSUBSCRIBE_URL = 'unsubscribe_url'

const NAME_PATTERN = String.raw`[\p{L}\p{N}_][\p{L}\p{M}\p{N}_-]{0,99}(?:\.[\p{L}\p{N}_][\p{L}\p{M}\p{N}_-]{0,99}){0,9}`
const variablePattern = new RegExp(
  String.raw`\{\{\{\s{0,20}(${NAME_PATTERN})\s{0,20}\}\}\}|\{\{\s{0,20}(${NAME_PATTERN})\s{0,20}\}\}`,
  'gu',
)

export function parseTemplateText(text: string): TemplateText {
  const pieces: (string | Variable)[] = []
  const known = new Map<string, Variable>()
  const uses = new Map<Variable, number>()
  let literalBytes = 0
  let end = 0

  function pushLiteral(to: number): void {
    if (to === end) return
    const piece = text.slice(end, to)
    literalBytes += Buffer.byteLength(piece)
    pieces.push(piece)
  }

  for (const match of text.matchAll(variablePattern)) {
    const [whole, raw, escaped] = match
    const found = internVariable(known, raw ?? escaped ?? '', raw !== undefined)
    pushLiteral(match.index)
    pieces.push(found)
    uses.set(found, (uses.get(found) ?? 0) + 1)
    end = match.index + whole.length
  }
  pushLiteral(text.length)
  return { pieces, literalBytes, uses }
}

function internVariable(known: Map<string, Variable>, name: string, raw: boolean): Variable {
  const key = raw ? `{${name}` : name
  const found = known.get(key) ?? { name, path: name.split('.'), raw }
  known.set(key, found)
  return found
}

/** Of several texts, in the order in which they come, each once; ours is none of them. */
export function listVariableNames(texts: readonly TemplateText[]): readonly string[] {
  const names = new Set(texts.flatMap(({ uses }) => [...uses.keys()]).map(({ name }) => name))
  names.delete(UNSUBSCRIBE_URL)
  return [...names]
}
