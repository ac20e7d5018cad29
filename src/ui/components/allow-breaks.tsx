/**
 * Marks where addresses, names of hosts and URLs may continue in the next line, so that none is broken inside a word.
 */
import type { ComponentChildren } from 'preact'

/** Characters; longer texts stay as they are. */
const MAX_LENGTH = 2_000

/** After a separator, before a word: the dot of `12.5` is none. A short last part, such as `com`, does not stand alone. */
const joint = /(?<=[@./=?&:;]|\p{L}_)(?=[\p{L}_]\S{4})/u

/** Lets the texts that a cell or a fact shows break at their separators; anything else is unchanged. */
export function allowBreaks(shown: ComponentChildren): ComponentChildren {
  if (typeof shown !== 'string' || shown.length > MAX_LENGTH) return shown
  const [first = '', ...others] = shown.split(joint)
  return others.length === 0 ? first : [first, ...others.flatMap((part) => [<wbr />, part])]
}
