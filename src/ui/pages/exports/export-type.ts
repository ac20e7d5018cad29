/** An export as the session routes have it, and the types of exports in words. */
import type { paths } from '../../api/session-schema.d.ts'

type ExportList = paths['/ui/api/exports']['get']['responses'][200]['content']['application/json']
export type Export = ExportList['data'][number]
type ExportType = Export['type']

/** The page of a broadcast requests an export of its recipients. */
type RequestedType = Exclude<ExportType, 'broadcast_recipients'>

const types: Readonly<Record<RequestedType, { readonly label: string; readonly hint: string }>> = {
  email_logs: { label: 'Emails', hint: 'Each recipient of each email, with its status and times.' },
  bounces: { label: 'Bounces', hint: 'Each bounce with the reply of the mail server.' },
  opens: { label: 'Opens', hint: 'Each open, including those by programs.' },
  suppressions: { label: 'Suppressions', hint: 'The addresses that were added to the list.' },
}

export function toTypeLabel(type: ExportType): string {
  return type === 'broadcast_recipients' ? 'Recipients of a broadcast' : types[type].label
}

export const typeOptions = Object.entries(types).map(([value, { label, hint }]) => ({ value, label, hint }))

/** The type is emails unless the text names another. */
export function readExportType(text: string): RequestedType {
  return text === 'bounces' || text === 'opens' || text === 'suppressions' ? text : 'email_logs'
}
