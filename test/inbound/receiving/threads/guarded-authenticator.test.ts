/** A message that was being read when the daemon crashed is authenticated, and read by a process later. */
import t from 'tap'
import type { Authentication, Connection } from '../../../../src/base/mail/authentication-results.js'
import { scanHeader } from '../../../../src/base/mail/header-fields.js'
import { MessageBytes } from '../../../../src/base/storage/db/message-bytes.js'
import { toJson } from '../../../../src/base/storage/tables/columns.js'
import type { TraceFacts } from '../../../../src/inbound/receiving/authentication/trace-fields.js'
import { GuardedAuthenticator } from '../../../../src/inbound/receiving/threads/guarded-authenticator.js'

const raw = Buffer.from('From: a@b.test\r\n\r\ntext\r\n')
const authentication = {} as Authentication
const asked = { workspaceId: 'ws_1', trace: { id: 'x' } as TraceFacts }

async function authenticate(isFeared: boolean, only: typeof asked | null, fails = false) {
  const steps: unknown[] = []
  const guarded = new GuardedAuthenticator({
    threads: {
      authenticate: async (_bytes, _header, _connection, trace) => {
        steps.push(trace?.id ?? null)
        if (fails) throw new Error('a fault')
        return { authentication, authenticationJson: toJson(authentication), form: null }
      },
    },
    early: {
      guardMessage: (received, workspaceId) => {
        steps.push([received.length, workspaceId])
        return { isFeared, begin: () => steps.push('begin'), finish: () => steps.push('finish') }
      },
    },
    onAuthenticated: (results) => steps.push(results === authentication ? 'observed' : 'other results'),
  })
  await guarded
    .authenticate(MessageBytes.lent(raw), scanHeader(raw), {} as Connection, only)
    .catch(() => steps.push('failed'))
  return steps
}

t.test('only a message that a thread reads is guarded, and to its end', async (t) => {
  t.same(await authenticate(false, null), [null, 'observed'])
  t.same(await authenticate(false, asked), [[raw.length, 'ws_1'], 'begin', 'x', 'finish', 'observed'])
  t.same(await authenticate(false, asked, true), [[raw.length, 'ws_1'], 'begin', 'x', 'finish', 'failed'])
  t.same(await authenticate(true, asked), [[raw.length, 'ws_1'], null, 'observed'])
})
