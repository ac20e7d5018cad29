/** Inbound mail is scored by everything that the daemon has: rules, the trained classifier, and rspamd. */
import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import type { SpamContribution } from '../../src/base/storage/tables/inbound-tables.js'
import { type TestDaemon, testDaemon } from '../helpers/daemon/test-daemon.js'
import { temporaryFolder } from '../helpers/database/database.js'
import { rspamdPeer } from '../helpers/programs/rspamd-peer.js'
import { skipWithout } from '../helpers/programs/skip-without.js'
import {
  deliverInbound,
  idOfReply,
  inboundText,
  openMxSession,
  waitUntilProcessed,
} from '../helpers/smtp/deliver-inbound.js'
import { waitUntil } from '../helpers/wait-until.js'

interface Judged {
  readonly id: string
  readonly spam_status: string
  readonly spam_score: number
  readonly spam_report: readonly SpamContribution[]
}

async function receiver(t: Test, spam: Readonly<Record<string, unknown>>): Promise<TestDaemon> {
  const app = await testDaemon(t, { settings: { spam } })
  const added = await app.cli('domain', 'add', 'home.test', '--inbound', '--force', '--workspace', app.workspaceId)
  if (added.status !== 0) throw new Error(added.err)
  const client = await openMxSession(t, app)
  await client.sendCommand('EHLO mx.b.test')
  await waitUntil('the listener knows the domain', async () => {
    await client.sendCommand('RSET')
    await client.sendCommand('MAIL FROM:<>')
    return (await client.sendCommand('RCPT TO:<a@home.test>')).startsWith('250')
  })
  return app
}

async function deliverAndScore(t: Test, app: TestDaemon, raw: string): Promise<Judged> {
  const email = (await waitUntilProcessed(
    app,
    idOfReply(await deliverInbound(t, app, { to: ['a@home.test'], raw })),
  )) as unknown as Judged
  const sum = email.spam_report.reduce((total, { score }) => total + score, 0)
  t.equal(email.spam_score, Math.round(sum * 100) / 100, 'the report adds up to the score')
  return email
}

const names = ({ spam_report }: Judged): string => spam_report.map(({ name }) => name).join(' ')

/** Files with messages of one kind, each with a word of its own, received at `dated`. */
function writeTraining(t: Test, kind: string, text: string, count: number, dated: Date): string {
  const folder = join(temporaryFolder(t), kind)
  mkdirSync(folder)
  const received = `Received: from b.test by home.test; ${dated.toUTCString()}\r\n`
  for (let at = 0; at < count; at += 1) {
    const mail = inboundText({ subject: `${text} ${kind}${count + at}`, to: 'a@home.test' })
    writeFileSync(join(folder, `${at}.eml`), `${received}${mail}`)
  }
  return folder
}

t.test('what was learned from files and by feedback scores the next message', async (t) => {
  const app = await receiver(t, {})
  const advert = inboundText({ subject: 'cheap watches and cheap pills' })
  const before = await deliverAndScore(t, app, advert)
  t.notMatch(names(before), /BAYES/)
  const own = ['--workspace', app.workspaceId] as const
  const teach = async (count: number, dated: Date): Promise<void> => {
    for (const [as, text] of [
      ['spam', 'cheap watches and cheap pills'],
      ['ham', 'minutes of the garden board'],
    ] as const) {
      const answer = await app.cli('spam', 'learn', writeTraining(t, as, text, count, dated), '--as', as, ...own)
      t.match(answer, { out: `${count} learned\n`, status: 0 })
    }
  }
  await teach(50, new Date(Date.UTC(2020, 1, 1)))
  const doubted = await deliverAndScore(t, app, advert)
  t.match(names(doubted), /BAYES_SPAM.* CLASSIFIER_UNSEASONED/, 'old mail teaches it, and it is trusted little')
  t.equal(doubted.spam_status, 'clean')
  await teach(200, new Date())
  const said = await app.rest('POST', `/v1/inbound/${before.id}/feedback`, { body: { verdict: 'spam' } })
  t.match(said.json(), { learned: true, spam_status: 'spam' })
  t.match((await app.rest('GET', `/v1/inbound/${before.id}`)).json(), { spam_score: before.spam_score })
  const after = await deliverAndScore(t, app, advert)
  t.match(names(after), /BAYES_SPAM_(?:CERTAIN|LIKELY)/)
  t.not(after.spam_status, 'clean')
  t.match(names(await deliverAndScore(t, app, inboundText({ subject: 'minutes of the board' }))), /BAYES_HAM/)
  t.same(app.errors, [])
})

t.test(
  'rspamd contributes to the score, and while it is down our own score stands',
  { skip: skipWithout('rspamd') },
  async (t) => {
    const peer = await rspamdPeer(t)
    const app = await receiver(t, { rspamd_url: peer.url })
    const gtube = ['XJS*C4JDBQADN1.NSBN3*2IDNEN', 'GTUBE-STANDARD-ANTI-UBE-TEST-EMAIL', 'C.34X'].join('*')
    const plain = await deliverAndScore(
      t,
      app,
      inboundText({ fields: ['MIME-Version: 1.0', 'Content-Type: text/plain'] }),
    )
    t.match(names(plain), /\bRSPAMD_\w+.* RSPAMD\b|\bRSPAMD\b.* RSPAMD_\w+/)
    t.not(plain.spam_status, 'spam')
    const test = await deliverAndScore(t, app, inboundText().replace('How do you do?', gtube))
    t.match(test, { spam_status: 'spam' })
    t.match(names(test), /RSPAMD_GTUBE/)
    await peer.end()
    const alone = await deliverAndScore(t, app, inboundText({ subject: 'again' }))
    t.notMatch(names(alone), /RSPAMD/)
    t.same(app.errors, [])
  },
)
