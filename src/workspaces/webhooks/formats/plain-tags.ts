/**
 * Tags as other services have them: some words, and further values by name. Our tags all have names. The value of a tag
 * with the name `tag` or `category` is a word; all other tags are values by name.
 */
import type { Tag } from '../../../base/storage/tables/email-tables.js'
import type { EventData } from './event-data.js'
import type { EmailFacts } from './event-format.js'

const wordNames: ReadonlySet<string> = new Set(['tag', 'category'])

export interface PlainTags {
  readonly words: readonly string[]
  /** If several tags have the same name, the last one counts. */
  readonly values: Readonly<Record<string, string>>
}

/** From the record of the email, or from the payload if the email is gone. */
export function readPlainTags(data: EventData, email: EmailFacts | null): PlainTags {
  const tags = email?.tags ?? tagsOf(data.fields['tags'])
  return {
    words: tags.filter(({ name }) => wordNames.has(name)).map(({ value }) => value),
    values: Object.fromEntries(tags.filter(({ name }) => !wordNames.has(name)).map(({ name, value }) => [name, value])),
  }
}

function tagsOf(object: unknown): readonly Tag[] {
  if (typeof object !== 'object' || object === null) return []
  return Object.entries(object).flatMap(([name, values]) =>
    [values].flat().flatMap((value) => (typeof value === 'string' ? [{ name, value }] : [])),
  )
}
