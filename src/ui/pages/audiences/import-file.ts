/** A file of contacts that the user imports: how the server reads it, and the requests of its preview and import. */
import { api, toUpload, unwrap } from '../../api/client.ts'
import type { components } from '../../api/schema.d.ts'

export type Preview = components['schemas']['ContactImportPreview']
export type Hint = keyof Preview['hinted']
/** The report, or for a long file the import that continues. */
export type ImportAnswer = components['schemas']['ContactImportReport'] | components['schemas']['BegunImport']

/** A column whose name the server does not understand, and about which the user has not decided. */
export const UNDECIDED = '?'

/** What the user has chosen. What is null is up to the server. */
export interface Choices {
  /** The field of each column. Null if it is not imported. */
  readonly fields: readonly (string | null)[] | null
  readonly header: boolean | null
  readonly delimiter: Preview['delimiter'] | null
  readonly encoding: Preview['encoding'] | null
  readonly resubscribe: boolean
  /** Lines whose address has one of these hints are not imported. */
  readonly leaveOut: readonly Hint[]
}

export const firstChoices: Choices = {
  ...{ fields: null, header: null, delimiter: null, encoding: null },
  ...{ resubscribe: false, leaveOut: ['typo', 'disposable'] },
}

function toQuery({ fields, header, delimiter, encoding, resubscribe, leaveOut }: Choices) {
  return {
    resubscribe: resubscribe ? ('true' as const) : ('false' as const),
    ...(leaveOut.length === 0 ? {} : { leave_out: leaveOut.join(',') }),
    ...(fields === null ? {} : { columns: JSON.stringify(fields) }),
    ...(header === null ? {} : { header: header ? ('true' as const) : ('false' as const) }),
    ...(delimiter === null ? {} : { delimiter }),
    ...(encoding === null ? {} : { encoding }),
  }
}

export function previewFile(audienceId: string, file: File, choices: Choices): Promise<Preview> {
  const params = { path: { id: audienceId }, query: toQuery(choices) }
  return unwrap(api.POST('/v1/audiences/{id}/import/preview', { params, ...toUpload(file) }))
}

export function importFile(audienceId: string, file: File, choices: Choices): Promise<ImportAnswer> {
  const params = { path: { id: audienceId }, query: toQuery(choices) }
  return unwrap(api.POST('/v1/audiences/{id}/import', { params, ...toUpload(file) }))
}
