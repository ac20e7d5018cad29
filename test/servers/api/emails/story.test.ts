/** The story over REST: its steps and lines, the entry that a bounce makes, and nothing of other workspaces. */
import t from 'tap'
import { testDaemon } from '../../../helpers/daemon/test-daemon.js'
import { openSink } from '../../../helpers/smtp/scripted-sink.js'

interface Story {
  readonly text: string
  readonly recipients: readonly {
    readonly steps: readonly { readonly kind: string; readonly suppression_id: string | null }[]
  }[]
}

t.test('a bounce leads to the entry that it has made, and an address that was suppressed to its own', async (t) => {
  const sink = await openSink({
    script: { rcpt: ({ line }) => (line.includes('gone@') ? '550 5.1.1 no such user' : '250 ok') },
  })
  t.teardown(() => sink.close())
  const app = await testDaemon(t, { routes: { 'b.test': sink } })
  const send = async (...to: readonly string[]): Promise<string> => {
    const body = { from: 'app@a.test', to, subject: 'Hello', text: 'x' }
    const { id } = (await app.rest('POST', '/v1/emails', { body })).json<{ readonly id: string }>()
    await app.waitUntilSettled(id)
    return id
  }
  const first = await send('bob@b.test', 'gone@b.test')
  const answer = await app.rest('GET', `/v1/emails/${first}/story`)
  t.equal(answer.status, 200, answer.text)
  t.match(answer.json(), {
    id: first,
    recipient_counts: { delivered: 1, bounced: 1 },
    recipients: [
      { email: 'bob@b.test', status: 'delivered', next: null },
      { email: 'gone@b.test', status: 'bounced', reason: 'bad-mailbox' },
    ],
  })
  const [, gone] = answer.json<Story>().recipients
  t.same(
    gone?.steps.map(({ kind }) => kind),
    ['accepted', 'attempt', 'suppressed'],
  )
  const [entry] = await app.rows<{ id: string }>('select id from suppressions')
  t.equal(gone?.steps.at(-1)?.suppression_id, entry?.id)
  const { text } = answer.json<Story>()
  t.match(text, /^\S+ {2}delivered\n[\s\S]*\n {2}recipients {2}1 delivered, 1 bounced\n/)
  t.match(text, /bounced \(bad-mailbox\): 550 5\.1\.1 no such user\n {6}The mailbox does not exist\.\n/)
  t.match(text, /\dZ {2}This address is now suppressed\n/)

  const second = await send('bob@b.test', 'gone@b.test')
  const [, left] = (await app.rest('GET', `/v1/emails/${second}/story`)).json<Story>().recipients
  t.match(left?.steps, [{ kind: 'accepted' }, { kind: 'not-sent', suppression_id: entry?.id }])
  t.equal((await app.rest('GET', `/v1/emails/${first}/story`, { key: app.otherKey })).status, 404)

  app.advance(60_000)
  t.equal((await app.rest('DELETE', `/v1/suppressions/${entry?.id}`)).status, 204)
  const after = await app.rest('GET', `/v1/emails/${first}/story`)
  t.same(
    after.json<Story>().recipients[1]?.steps.map(({ kind, suppression_id: id }) => [kind, id]),
    [
      ['accepted', null],
      ['attempt', null],
      ['suppressed', null],
      ['unsuppressed', null],
    ],
  )
  t.match(after.json<Story>().text, /This address was suppressed\n[\s\S]*\dZ {2}The address was taken off the supp/)
  const sent = await app.rest('GET', `/v1/emails/${second}/story`)
  t.match(sent.json<Story>().recipients[1]?.steps, [{}, { kind: 'not-sent' }, { kind: 'unsuppressed' }])
})
