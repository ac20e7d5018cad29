/**
 * Protects the secrets of a webhook when its URL leads to another host: the one who changes the URL must know them. So
 * a person who may change webhooks cannot have secrets sent to a host of their choice.
 */
import { Refusal } from '../../../base/mail/refusal.js'
import type { OwnHeaders } from './own-headers.js'

interface StoredSettings {
  readonly url: string
  readonly login: string | null
  readonly headers: OwnHeaders
}

interface ChangedSettings {
  readonly url: string | undefined
  /** `keep`: the stored credentials stay. */
  readonly login: string | null | 'keep'
  /** The fields as given, with masks. Undefined: the stored ones stay. */
  readonly headers: OwnHeaders | undefined
}

/** Throws a Refusal `invalid-parameter` if secrets would stay, unseen, with a URL of another origin. */
export function requireSecretsAgain(stored: StoredSettings, { url, login, headers }: ChangedSettings): void {
  if (url === undefined || new URL(url).origin === new URL(stored.url).origin) return
  if (login === 'keep' && stored.login !== null) throw refuse('url', 'its credentials')
  const names = Object.keys(stored.headers)
  const isKept = headers === undefined ? names.length > 0 : Object.values(headers).includes('***')
  if (isKept && names.length > 0) throw refuse('headers', 'their values')
}

function refuse(field: string, what: string): Refusal {
  const message = `${field}: state ${what} again, because the URL leads to another host`
  return new Refusal('invalid-parameter', message, { field, value: null })
}
