/**
 * The credentials of a webhook's URL. They are stored apart from the URL and sent as Basic authentication, so that no
 * log line, event or record contains them with the URL.
 *
 * An answer shows `***` in their place. A URL that comes back with that mask keeps the credentials that are stored.
 */

interface SplitUrl {
  /** Without credentials. */
  readonly url: string
  /** `user:password`, decoded. Null if there are none. `keep` means that the URL has the mask. */
  readonly login: string | null | 'keep'
}

const MASK = '***'

/** The text is a URL that a webhook may have. */
export function splitUrl(text: string): SplitUrl {
  const url = new URL(text)
  const { username, password } = url
  if (username === '' && password === '') return { url: text, login: null }
  const bare = text.replace(/^([^/]*\/\/)[^/?#]*@/, '$1')
  if (username === MASK && (password === MASK || password === '')) return { url: bare, login: 'keep' }
  return { url: bare, login: `${decode(username)}:${decode(password)}` }
}

/** The URL as answers show it. */
export function showUrl(url: string, login: string | null): string {
  return login === null ? url : url.replace('//', `//${MASK}:${MASK}@`)
}

/** A text that is no percent encoding counts as it is. */
function decode(text: string): string {
  try {
    return decodeURIComponent(text)
  } catch {
    return text
  }
}
