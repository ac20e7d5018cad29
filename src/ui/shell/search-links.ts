/** Makes the links of the search: to a result, and to the list with all results of its kind. */
import type { components } from '../api/session-schema.d.ts'

export type FoundGroup = components['schemas']['FoundGroup']
export type FoundItem = components['schemas']['FoundItem']
type Kind = FoundGroup['kind']

export const kindNames: Readonly<Record<Kind, string>> = {
  emails: 'Emails',
  contacts: 'Contacts',
  broadcasts: 'Broadcasts',
  audiences: 'Audiences',
  templates: 'Templates',
  domains: 'Domains',
  suppressions: 'Suppressed addresses',
  inbound: 'Received mail',
  keys: 'API keys',
  webhooks: 'Webhooks',
}

export function toResult(kind: Kind, { id, title }: FoundItem): string {
  if (kind === 'keys') return '/keys'
  return kind === 'suppressions' ? withQuery('/suppressions', { email: title }) : `/${kind}/${id}`
}

export function toAllResults(kind: Kind, text: string): string {
  switch (kind) {
    case 'emails':
      return withQuery('/emails', { text })
    case 'contacts':
      return withQuery('/contacts', { search: text })
    case 'suppressions':
      return withQuery('/suppressions', { email: text })
    case 'inbound':
      return withQuery('/inbound', { from: text })
    default:
      return `/${kind}`
  }
}

function withQuery(path: string, values: Readonly<Record<string, string>>): string {
  return `${path}?${new URLSearchParams(values)}`
}
