/** A browser at a test daemon: keeps its cookies, names its own site, and acts in a workspace. */

import { parseAddress } from '../../../src/base/mail/address.js'
import { createPasswordHasher } from '../../../src/workspaces/accounts/people/passwords.js'
import { setPassword, userByEmail } from '../../../src/workspaces/accounts/people/users.js'
import type { TestDaemon } from '../daemon/test-daemon.js'
import type { RestAnswer } from './rest-client.js'

export const PASSWORD = 'correct horse battery'

interface BrowserRequest {
  readonly body?: unknown
  /** Instead of what a page of ours sends. */
  readonly headers?: Readonly<Record<string, string>>
}

interface Browser {
  /** The cookie of the session as it sends it; empty: none. */
  cookie: string
  /** The cookie by which the daemon knows it after a sign-in; empty: none. */
  knownBy: string
  workspaceId: string
  readonly ask: (method: string, path: string, request?: BrowserRequest) => Promise<RestAnswer>
  readonly signIn: (email: string, more?: { readonly password?: string; readonly code?: string }) => Promise<RestAnswer>
}

type BrowserDaemon = Pick<TestDaemon, 'rest' | 'workspaceId'>

export function openBrowser({ rest, workspaceId }: BrowserDaemon): Browser {
  const browser: Browser = {
    cookie: '',
    knownBy: '',
    workspaceId,
    ask: async (method, path, { body, headers = {} } = {}) => {
      const cookies = [browser.cookie, browser.knownBy].filter((pair) => pair !== '')
      const cookie: Record<string, string> = cookies.length === 0 ? {} : { cookie: cookies.join('; ') }
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
        if (set.startsWith('__Host-posthorn-browser=')) browser.knownBy = pair
        else browser.cookie = pair
      }
      return answer
    },
    signIn: (email, { password = PASSWORD, code } = {}) =>
      browser.ask('POST', '/session', { body: { email, password, ...(code === undefined ? {} : { code }) } }),
  }
  return browser
}

let hash: Promise<string> | null = null

/** Gives a user of the daemon `PASSWORD`. */
export async function givePassword({ daemon }: Pick<TestDaemon, 'daemon'>, email = 'owner@a.test'): Promise<void> {
  const { read, commit } = daemon.database
  const [user] = await userByEmail(read, { email: parseAddress(email) })
  if (user === undefined) throw new Error(`no user ${email}`)
  hash ??= createPasswordHasher().hash(PASSWORD, { email, fullName: '' })
  await commit([setPassword({ id: user.id, hash: await hash })])
}
