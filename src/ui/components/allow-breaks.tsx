/** Marks where addresses, host names and URLs may continue on the next line, so that none is broken inside a word. */
import type { ComponentChildren } from 'preact'

/** Characters. Longer texts stay as they are. */
const MAX_LENGTH = 2_000

/**
 * A place after a separator and before a word. The dot of `12.5` is not one. A short last part, such as `com`, does
 * not get a line alone.
 */
const joint = /(?<=[@./=?&:;]|\p{L}_)(?=[\p{L}_]\S{4})/u

/** Lets the texts of a cell or a fact break at their separators. Anything else is unchanged. */
export function allowBreaks(shown: ComponentChildren): ComponentChildren {
  if (typeof shown !== 'string' || shown.length > MAX_LENGTH) return shown
  const [first = '', ...others] = shown.split(joint)
  return others.length === 0 ? first : [first, ...others.flatMap((part) => [<wbr />, part])]
}
