/**
 * A newsletter to a thousand members, by exactly the calls of Ghost's client for Mailgun: the form that it sends, and the
 * loop by which it reads what became of it.
 */
import { simpleParser } from 'mailparser'
import t from 'tap'
import { failsWith, openMailgun } from '../helpers/http/mailgun-client.js'
import { waitUntil } from '../helpers/wait-until.js'

const rcpt = ({ line }: { readonly line: string }): string =>
  line.includes('<gone') ? '550 5.1.1 no such user' : '250 2.1.5 Ok'
const { app, sink, client } = await openMailgun(t, { rcpt })
console.warn = () => undefined

const MEMBERS = 1_000
const EMAIL_ID = '65f1c2d3e4b5a60001a2b3c4'
const members = Array.from({ length: MEMBERS }, (_, at) => {
  return { email: at === 7 ? 'gone@b.test' : `member${at}@b.test`, name: `Member ${at}`, uuid: `uuid-${at}` }
})

async function sendNewsletter(to: typeof members): Promise<string> {
  const values = to.map(({ email, name, uuid }) => {
    const url = `https://blog.a.test/unsubscribe/?uuid=${uuid}&newsletter=1`
    return [email, { name, uuid, unsubscribe_url: url, list_unsubscribe: url }] as const
  })
  const variables = Object.fromEntries(values)
  const { id = '' } = await client.messages.create('a.test', {
    to: Object.keys(variables),
    from: '"The Blog" <blog@a.test>',
    'h:Reply-To': 'blog@a.test',
    'h:Sender': '"The Blog" <blog@a.test>',
    'h:Auto-Submitted': 'auto-generated',
    'h:X-Auto-Response-Suppress': 'OOF, AutoReply',
    subject: 'The news',
    html: `<p>Hey %recipient.name%</p>${'<p>much to read</p>'.repeat(500)}<a href="%recipient.unsubscribe_url%">Unsubscribe</a>`,
    text: 'Hey %recipient.name%: %recipient.unsubscribe_url%',
    'recipient-variables': JSON.stringify(variables),
    'h:List-Unsubscribe': '<%recipient.list_unsubscribe%>, <%tag_unsubscribe_email%>',
    'h:List-Unsubscribe-Post': 'List-Unsubscribe=One-Click',
    'v:email-id': EMAIL_ID,
    'o:tag': ['bulk-email', 'ghost-email'],
    'o:tracking-opens': true,
  } as never)
  return id.trim().replace(/^<|>$/g, '')
}

interface Item {
  readonly id: string
  readonly event: string
  readonly severity?: string
  readonly recipient: string
  readonly timestamp: number
  readonly 'user-variables'?: Readonly<Record<string, string>>
  readonly message?: { readonly headers: Readonly<Record<string, string>> }
  readonly 'delivery-status'?: { readonly code: number; readonly message?: string }
}

interface Page {
  readonly items: readonly Item[]
  readonly pages: { readonly next: { readonly page: string } }
}

/** Every page until one is empty. The query goes with each. */
async function fetchEvents(begin: number): Promise<readonly Item[]> {
  const options = {
    ...{ limit: 300, event: 'delivered OR opened OR failed OR unsubscribed OR complained', tags: 'bulk-email' },
    ...{ begin, end: app.now() / 1_000, ascending: 'yes' },
  }
  const found: Item[] = []
  let page = (await client.events.get('a.test', options as never)) as unknown as Page
  while (page.items.length > 0) {
    found.push(...page.items)
    const next = { page: page.pages.next.page, ...options }
    page = (await client.events.get('a.test', next as never)) as unknown as Page
  }
  return found
}

t.test('a newsletter is sent, counted, and its bounces and complaints are read', async (t) => {
  const begin = app.now() / 1_000 - 1
  const providerId = await sendNewsletter(members)
  // Other mail of the workspace is none of the newsletter.
  await client.messages.create('a.test', { from: 'app@a.test', to: 'bob@b.test', subject: 'a', text: 'a' } as never)
  await waitUntil('all are settled', async () => {
    return (await app.rows("select id from emails where status in ('delivered', 'bounced')")).length === MEMBERS + 1
  })
  const complaint = await app.rows<{ id: string }>(
    "select email_id as id from recipients where address = 'member3@b.test'",
  )
  await app.rest('GET', `/v1/track/open/${complaint[0]?.id}`, { key: null })
  const events = await waitUntil('the open', async () => {
    const all = await fetchEvents(begin)
    return all.length > MEMBERS && all
  })
  t.equal(new Set(events.map(({ id }) => id)).size, events.length, 'each once')
  const counted = Object.groupBy(events, ({ event }) => event)
  t.same(Object.fromEntries(Object.entries(counted).map(([event, items = []]) => [event, items.length])), {
    delivered: MEMBERS - 1,
    failed: 1,
    opened: 1,
  })
  t.match(counted['failed']?.[0], {
    ...{ severity: 'permanent', recipient: 'gone@b.test', 'delivery-status': { code: 550, message: /no such user/ } },
  })
  t.ok(events.every((event) => event['user-variables']?.['email-id'] === EMAIL_ID && event.timestamp >= begin))
  t.ok(events.every(({ message }) => message?.headers['message-id'] === providerId))
  t.same(
    events.map(({ timestamp }) => timestamp),
    events.map(({ timestamp }) => timestamp).sort((a, b) => a - b),
  )
})

t.test('members read it with their own values, and unsubscribe by one request', async (t) => {
  const found = sink.messages.find(({ rcptTo }) => rcptTo[0]?.startsWith('<member5@b.test>'))
  const mail = await simpleParser(found?.raw ?? '')
  t.match(mail.html, /Hey Member 5<(?:.|\n)*href="https:\/\/blog\.a\.test\/unsubscribe\/\?uuid=uuid-5&/)
  t.same(
    mail.headerLines.filter(({ key }) => key.startsWith('list-')).map(({ line }) => line.replace(/\r\n /g, ' ')),
    [
      'List-Unsubscribe: <https://blog.a.test/unsubscribe/?uuid=uuid-5&newsletter=1>',
      'List-Unsubscribe-Post: List-Unsubscribe=One-Click',
    ],
  )
  t.match([mail.headers.get('auto-submitted'), mail.subject], ['auto-generated', 'The news'])
})

t.test('a member who bounced is recognized by the code at the next newsletter, and may be freed', async (t) => {
  const begin = app.now() / 1_000
  await sendNewsletter(members.slice(6, 8))
  const events = await waitUntil('both', async () => {
    const all = await fetchEvents(begin)
    return all.length === 2 && all
  })
  t.match(
    events.find(({ event }) => event === 'failed'),
    {
      ...{ recipient: 'gone@b.test', severity: 'permanent', 'delivery-status': { code: 605 } },
    },
  )
  for (const type of ['complaints', 'unsubscribes'] as const) {
    await failsWith(t, client.suppressions.destroy('a.test', type, 'gone@b.test'), { status: 404 })
  }
  t.match(await client.suppressions.destroy('a.test', 'bounces', 'gone@b.test'), { address: 'gone@b.test' })
  t.same(await app.rows('select id from suppressions'), [])
})
