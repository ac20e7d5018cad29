import { createSecretKey } from 'node:crypto'
import fc from 'fast-check'
import t from 'tap'
import { createLog } from '../../../src/base/platform/log.js'
import { AddressHider } from '../../../src/base/platform/log-privacy.js'

const secret = createSecretKey(Buffer.alloc(32, 1))

function hidden(fields: object, msg = 'accepted', key = secret): Record<string, unknown> {
  const hider = new AddressHider(true)
  hider.useKey(key)
  const lines: string[] = []
  const log = createLog(
    { write: (line) => void lines.push(line) },
    { level: 'info', format: 'json' },
    { hide: (line) => hider.hide(line) },
  )
  log.info(fields, msg)
  t.equal(lines[0]?.endsWith('}\n'), true)
  return JSON.parse(lines[0] ?? '')
}

const mark = /^~[0-9a-f]{16}@example\.org$/

t.test('the local part of every address becomes a hash, wherever it stands', async (t) => {
  const recipientOf = (recipient: string): unknown => hidden({ recipient })['recipient']
  const bob = recipientOf('bob@example.org')
  t.match(bob, mark)
  t.equal(recipientOf('BOB@Example.ORG'), String(bob).replace('example.org', 'Example.ORG'), 'the same in any case')
  t.not(recipientOf('rob@example.org'), bob)
  t.not(recipientOf('bob@example.com'), String(bob).replace('.org', '.com'), 'the domain counts')
  const other = hidden({ recipient: 'bob@example.org' }, 'accepted', createSecretKey(Buffer.alloc(32, 2)))
  t.not(other['recipient'], bob, 'another installation has other hashes')
  const [, word] = /^(~\w+)@/.exec(String(bob)) ?? []

  const line = hidden({
    to: ['bob@example.org', { deep: 'x <bob@example.org>, bob@example.org.' }],
    response: '550 5.1.1 <bob@example.org>: user Bob unknown, bobby is here (bob)',
    path: '/suppressions/bob%40example.org',
    reason: 'bob',
    sentence: 'The mailbox is bob.',
    quoted: 'to "bob"@example.org now',
    'bob@example.org': 1,
    level_of: 5,
  })
  t.match(line, {
    to: [bob, { deep: `x <${bob}>, ${bob}.` }],
    response: `550 5.1.1 <${bob}>: user ${word} unknown, bobby is here (${word})`,
    path: /^~[0-9a-f]{16}%40example\.org$/,
    reason: 'bob',
    sentence: 'The mailbox is bob.',
    quoted: `to ${bob} now`,
    [String(bob)]: 1,
    level_of: 5,
    msg: 'accepted',
  })
})

t.test('lines without an address stay as they are, and all of them without the setting', async (t) => {
  const hider = new AddressHider(true)
  hider.useKey(secret)
  const plain = '{"level":30,"time":"2026-11-21T00:00:00.000Z","msg":"serving","n":1.50}\n'
  t.equal(hider.hide(plain), plain)
  const about = '{"level":30,"to":"bob@example.org","msg":"x"}\n'
  hider.setEnabled(false)
  t.equal(hider.hide(about), about)
  hider.setEnabled(true)
  t.notMatch(hider.hide(about), /bob/)
  t.equal(
    new AddressHider(true).hide(about),
    '{"level":30,"to":"~@example.org","msg":"x"}\n',
    'before the key is known',
  )
  t.match(hider.hide('no JSON: bob@example.org'), /^no JSON: ~[0-9a-f]{16}@example\.org$/)
})

t.test('no local part remains, whatever surrounds it', async (_t) => {
  const hider = new AddressHider(true)
  hider.useKey(secret)
  const around = fc.string({
    unit: fc.constantFrom('<', '>', ' ', ',', ':', '"', '@', '.', 'é', '(', '%40', '\\', 'a'),
  })
  fc.assert(
    fc.property(around, around, (before, after) => {
      const line = `${JSON.stringify({ text: `${before}secretname@example.org${after}` })}\n`
      return !hider.hide(line).includes('secretname')
    }),
  )
})
