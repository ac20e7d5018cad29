/** Turns the values of a template's variables into the form of requests. */

/** Values by the names of variables. */
export type Texts = Readonly<Record<string, string>>

export interface Values {
  [name: string]: string | Values
}

/** Empty values count as missing. `user.name` is a value of the object `user`. */
export function nestValues(texts: Texts): Values {
  const values: Values = Object.create(null)
  for (const [name, text] of Object.entries(texts)) {
    if (text !== '') setValue(values, name.split('.'), text)
  }
  return values
}

function setValue(values: Values, path: readonly string[], text: string): void {
  const [word = '', ...rest] = path
  if (rest.length === 0) {
    values[word] = text
    return
  }
  const known = values[word]
  const inner: Values = typeof known === 'object' ? known : Object.create(null)
  values[word] = inner
  setValue(inner, rest, text)
}
