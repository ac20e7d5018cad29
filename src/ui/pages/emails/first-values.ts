/** The first values of the form of a new email: those of an email that is sent again, or of a test. */
import { api, unwrap } from '../../api/client.ts'

export interface FirstValues {
  readonly local: string
  readonly domain: string
  readonly name: string
  readonly to: string
  readonly subject: string
  readonly text: string | null
  readonly html: string | null
}

const test: FirstValues = {
  ...{ local: 'test', domain: '', name: '', to: '' },
  ...{ subject: 'Test', text: null, html: null },
}

/** Returns the address of the form with the content of an email, for one of its recipients. */
export function toSendAgain(id: string, recipient: string): string {
  return `/emails/new?${new URLSearchParams({ again: id, to: recipient })}`
}

/** `search` is the query of `toSendAgain`, or has no such email. */
export async function loadFirstValues(search: URLSearchParams): Promise<FirstValues> {
  const id = search.get('again')
  const to = search.get('to') ?? ''
  if (id === null) return { ...test, to }
  const { from, subject, html, text } = await unwrap(api.GET('/v1/emails/{id}', { params: { path: { id } } }))
  return { ...toSender(from), to, subject, html, text }
}

/** The parts of `"Shop" <orders@shop.test>`, or of an address alone. */
function toSender(from: string): Pick<FirstValues, 'local' | 'domain' | 'name'> {
  const open = from.endsWith('>') ? from.lastIndexOf('<') : -1
  const address = open < 0 ? from : from.slice(open + 1, -1)
  const at = address.lastIndexOf('@')
  const name = from.slice(0, Math.max(0, open)).trim()
  return { local: address.slice(0, at), domain: address.slice(at + 1), name: name.replace(/^"(.*)"$/s, '$1') }
}
