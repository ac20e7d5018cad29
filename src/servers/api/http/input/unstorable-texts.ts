/** Finds texts in the input of a request that a database cannot store as they are, wherever they are. */
import { explainUnstorable } from '../../../../base/mail/storable-text.js'
import { isRecord } from '../../../../base/platform/records.js'

type Path = readonly (string | number)[]

interface UnstorableText {
  /** The place of the field. */
  readonly path: Path
  /** The predicate of a sentence about the field. */
  readonly fault: string
}

/** `value` is parsed JSON, a query or a form. Names of fields are texts too. A file of a form is bytes, and has no texts. */
export function* findUnstorableTexts(value: unknown, path: Path = []): Generator<UnstorableText> {
  if (typeof value === 'string') yield* faultsOf(value, path, '')
  else if (Array.isArray(value)) {
    for (const [place, item] of value.entries()) yield* findUnstorableTexts(item, [...path, place])
  } else if (isRecord(value) && !ArrayBuffer.isView(value)) {
    for (const name of Object.keys(value)) {
      const place = [...path, name]
      yield* faultsOf(name, place, 'has a name that ')
      yield* findUnstorableTexts(value[name], place)
    }
  }
}

function* faultsOf(text: string, path: Path, subject: string): Generator<UnstorableText> {
  const fault = explainUnstorable(text)
  if (fault !== null) yield { path, fault: subject + fault }
}
