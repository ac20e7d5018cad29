/** Rewritten senders of forwarded mail, alone and together with postsrsd. */
import { spawn } from 'node:child_process'
import { createSecretKey } from 'node:crypto'
import { writeFileSync } from 'node:fs'
import { connect } from 'node:net'
import { join } from 'node:path'
import fc from 'fast-check'
import t from 'tap'
import {
  type Address,
  type DomainName,
  localPartOf,
  parseAddress,
  tryParseAddress,
} from '../../../src/base/mail/address.js'
import { createForwardedSender, looksRewritten, senderOfForwarded } from '../../../src/base/mail/forwarded-sender.js'
import { freePort } from '../../helpers/free-port.js'
import { skipWithout } from '../../helpers/programs/skip-without.js'
import { waitUntil } from '../../helpers/wait-until.js'

const DAY = 86_400_000
const now = Date.UTC(2026, 6, 1, 12)
const secret = createSecretKey(Buffer.alloc(32, 7))
const host = 'posthorn.a.test' as DomainName
const rewrite = (sender: string, at = now): Address | null => createForwardedSender(secret, sender as Address, host, at)
const restore = (address: string, at = now): Address | null =>
  senderOfForwarded(secret, localPartOf(address as Address), at)

t.test('a sender is rewritten and restored', async (t) => {
  for (const sender of ['bob@b.test', 'Bob.X+y=z@b.test', "o'hara!#$%@sub.b.test", 'a@xn--mnchen-3ya.test']) {
    const rewritten = rewrite(sender)
    t.match(rewritten, /^SRS0=[A-Z2-7]{6}=[A-Z2-7]{2}=.+@posthorn\.a\.test$/, sender)
    t.equal(restore(rewritten ?? ''), sender)
    t.equal(restore((rewritten ?? '').toLowerCase()), sender.toLowerCase(), 'also where case was lost')
  }
})

t.test('a sender that cannot be rewritten', async (t) => {
  for (const sender of [
    `${'x'.repeat(60)}@b.test`,
    '"odd local"@b.test',
    'jürgen@b.test',
    `b@${'long.'.repeat(12)}test`,
  ]) {
    t.equal(rewrite(sender), null, sender)
  }
})

t.test('what another forwarder rewrote becomes SRS1, does not grow, and goes back to the first', async (t) => {
  const first = 'SRS0=abcd=T2=b.test=bob@first.test'
  const second = rewrite(first)
  t.match(second, /^SRS1=[A-Z2-7]{6}=first\.test==abcd=T2=b\.test=bob@posthorn\.a\.test$/)
  t.equal(restore(second ?? ''), first)
  const third = rewrite('SRS1=zzzz=first.test==abcd=T2=b.test=bob@second.test')
  t.equal(third, second, 'through a second forwarder too')
  t.equal(restore(rewrite('SRS0+abcd=T2=b.test=bob@first.test') ?? ''), 'SRS0+abcd=T2=b.test=bob@first.test')
  t.equal(rewrite('SRS1=broken@b.test'), null)
  t.equal(rewrite('SRS1=zzzz=not a name==x@b.test'), null)
})

t.test('only addresses of ours, for three weeks', async (t) => {
  const valid = rewrite('bob@b.test') ?? ''
  t.equal(restore(valid, now + 21 * DAY), 'bob@b.test')
  t.equal(restore(valid, now - DAY), 'bob@b.test', 'clocks differ')
  for (const [address, at] of [
    [valid, now + 22 * DAY],
    [valid, now - 2 * DAY],
    [valid.replace('bob', 'eve'), now],
    [valid.replace('b.test', 'c.test'), now],
    [valid.replace(/=..=b/, '=AA=b'), now],
    [valid.replace(/SRS0=./, (start) => (start === 'SRS0=A' ? 'SRS0=B' : 'SRS0=A')), now],
    [valid.replace('SRS0', 'SRS1'), now],
    ['SRS0=@posthorn.a.test', now],
    ['SRS1====@posthorn.a.test', now],
    ['SRS0=AAAAAA=AA=b.test=@posthorn.a.test', now],
    ['bob@b.test', now],
  ] as const)
    t.equal(restore(address, at), null, address)
  const other = createForwardedSender(createSecretKey(Buffer.alloc(32, 8)), parseAddress('bob@b.test'), host, now)
  t.equal(restore(other ?? ''), null, 'of another key')
})

t.test('any address comes back, and none is longer than an address may be', async () => {
  const local = fc.string({ unit: fc.constantFrom(...'aZ09.=+-_!#%&*/?^`{|}~$'), minLength: 1, maxLength: 40 })
  const property = fc.property(
    local,
    fc.constantFrom('b.test', 'x-1.sub.example'),
    fc.nat(2_000),
    (name, domain, days) => {
      const sender = tryParseAddress(`${name}@${domain}`)
      const at = now + days * DAY
      const rewritten = sender === null ? null : createForwardedSender(secret, sender, host, at)
      if (rewritten === null) return true
      return (
        Buffer.byteLength(localPartOf(rewritten)) <= 64 &&
        senderOfForwarded(secret, localPartOf(rewritten), at) === sender
      )
    },
  )
  fc.assert(property)
})

t.test('any text is read without an error', async () => {
  const text = fc.string({ unit: fc.constantFrom('SRS0', 'SRS1', '=', '+', '-', 'AA', 'b.test', 'ä', '@', '"', ' ') })
  fc.assert(
    fc.property(text, (given) => {
      const found = senderOfForwarded(secret, given, now)
      return found === null || looksRewritten(given)
    }),
  )
})

/** The answer of postsrsd's look-up table: `200 address`. */
function ask(port: number, address: string): Promise<string> {
  return new Promise((resolve, reject) => {
    const socket = connect(port, '127.0.0.1', () => socket.write(`get ${address}\n`))
    socket.setEncoding('utf8').once('data', (line) => {
      socket.end()
      resolve(String(line).trim())
    })
    socket.once('error', reject)
  })
}

t.test('together with postsrsd', { skip: skipWithout('postsrsd') }, async (t) => {
  const secrets = join(t.testdir(), 'secrets')
  writeFileSync(secrets, 'not very secret\n')
  const [forward, reverse] = [await freePort(), await freePort()]
  const options = ['-4', '-s', secrets, '-d', 'their.test', '-l', '127.0.0.1', '-f', `${forward}`, '-r', `${reverse}`]
  const program = spawn('/usr/sbin/postsrsd', options, { stdio: 'ignore' })
  t.teardown(() => program.kill('SIGKILL'))
  await waitUntil('postsrsd answers', () => ask(reverse, 'x@their.test').catch(() => null))

  const theirs = /^200 (.+)$/.exec(await ask(forward, 'bob@b.test'))?.[1] ?? ''
  t.match(theirs, /^SRS0=/)
  const through = createForwardedSender(secret, parseAddress(theirs), host, Date.now())
  t.match(through, /^SRS1=/)
  const back = senderOfForwarded(secret, localPartOf(through ?? ('' as Address)), Date.now())
  t.equal(back, theirs, 'a bounce goes back to them')
  t.match(await ask(reverse, `${back}`), '200 bob@b.test', 'and they restore it')

  const ours = rewrite('bob@b.test', Date.now())
  const wrapped = /^200 (.+)$/.exec(await ask(forward, `${ours}`))?.[1] ?? ''
  t.match(wrapped, /^SRS1=.+=posthorn\.a\.test==/, 'they know ours for a rewritten one')
  const returned = /^200 (.+)$/.exec(await ask(reverse, wrapped))?.[1] ?? ''
  t.equal(restore(returned, Date.now()), 'bob@b.test', 'and what they send back to us is valid')
})
