/** Reads the fields of a payload, which an older version may have written without some of them. */

type Fields = Readonly<Record<string, unknown>>

export class EventData {
  readonly fields: Fields

  constructor(json: string) {
    this.fields = JSON.parse(json)
  }

  /** Empty if it is absent or null. */
  text(name: string): string {
    const value = this.fields[name]
    return typeof value === 'string' ? value : ''
  }

  number(name: string): number | null {
    const value = this.fields[name]
    return typeof value === 'number' ? value : null
  }

  texts(name: string): readonly string[] {
    const value = this.fields[name]
    return Array.isArray(value) ? value.filter((each) => typeof each === 'string') : []
  }

  /** Epoch milliseconds of the first of these fields that the payload has. */
  time(names: readonly string[], otherwise: number): number {
    for (const name of names) {
      const at = Date.parse(this.text(name))
      if (!Number.isNaN(at)) return at
    }
    return otherwise
  }
}
