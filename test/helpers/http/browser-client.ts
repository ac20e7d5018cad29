/** A browser at a test daemon: keeps its cookie, names its own site, and acts in a workspace. */

import { createPasswordHasher } from '../../../src/accounts/people/passwords.js'
import { setPassword, userByEmail } from '../../../src/accounts/people/users.js'
import { parseAddress } from '../../../src/mail/address.js'
import type { TestDaemon } from '../daemon/test-daemon.js'
import type { RestAnswer } from './rest-client.js'

export const PASSWORD = 'correct horse battery'

interface BrowserRequest {
  readonly body?: unknown
  /** Instead of what a page of ours sends. */
  readonly headers?: Readonly<Record<string, string>>
}

interface Browser {
  /** The cookie field that it sends; empty: none. */
  cookie: string
  /** The cookie of a device in which a user has signed in; empty: none. */
  device: string
  workspaceId: string
  readonly ask: (method: string, path: string, request?: BrowserRequest) => Promise<RestAnswer>
  readonly signIn: (email: string, more?: { readonly password?: string; readonly code?: string }) => Promise<RestAnswer>
}

type BrowserDaemon = Pick<TestDaemon, 'rest' | 'workspaceId'>

export function openBrowser({ rest, workspaceId }: BrowserDaemon): Browser {
  const browser: Browser = {
    cookie: '',
    device: '',
    workspaceId,
    ask: async (method, path, { body, headers = {} } = {}) => {
      const cookies = [browser.cookie, browser.device].filter((cookie) => cookie !== '').join('; ')
      const cookie: Record<string, string> = cookies === '' ? {} : { cookie: cookies }
      const answer = await rest(method, `/ui/api${path}`, {
        key: null,
        ...(body === undefined ? {} : { body }),
        headers: {
          'sec-fetch-site': 'same-origin',
          'x-workspace-id': browser.workspaceId,
          'user-agent': 'TestBrowser/1.0',
          ...cookie,
          ...headers,
        },
      })
      for (const set of [answer.headers['set-cookie'] ?? []].flat()) {
        const pair = /^[^=]+=[^;]+/.exec(set)?.[0] ?? ''
        if (set.startsWith('__Host-posthorn-device=')) browser.device = pair
        else browser.cookie = pair
      }
      return answer
    },
    signIn: (email, { password = PASSWORD, code } = {}) =>
      browser.ask('POST', '/session', { body: { email, password, ...(code === undefined ? {} : { code }) } }),
  }
  return browser
}

/** Gives a user of the daemon `PASSWORD`. */
export async function givePassword({ daemon }: Pick<TestDaemon, 'daemon'>, email = 'owner@a.test'): Promise<void> {
  const { read, commit } = daemon.database
  const [user] = userByEmail(read, { email: parseAddress(email) })
  if (user === undefined) throw new Error(`no user ${email}`)
  await commit([setPassword({ id: user.id, hash: await createPasswordHasher().hash(PASSWORD) })])
}
