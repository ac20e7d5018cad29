/** The classifier that learns: what it counts, how it judges, what it remembers and forgets. */
import fc from 'fast-check'
import t from 'tap'
import { tryParseAddress } from '../../../src/mail/address.js'
import { expireBayesData } from '../../../src/spam/bayes/expiry.js'
import { type BayesDeps, learnMessage, messageFingerprintOf } from '../../../src/spam/bayes/learn.js'
import { buildBayesContribution } from '../../../src/spam/bayes/points.js'
import {
  type BayesVerdict,
  buildLearnWrites,
  buildUnlearnWrites,
  findLearned,
  type MessageRef,
  readBayesCounts,
} from '../../../src/spam/bayes/records.js'
import {
  chiSquareTail,
  combineProbabilities,
  computeSpamProbability,
  computeTokenProbability,
  type TokenCount,
} from '../../../src/spam/bayes/score.js'
import { hashToken, packKeys, unpackKeys } from '../../../src/spam/bayes/token-keys.js'
import { tokenizeMessage } from '../../../src/spam/bayes/tokens.js'
import type { SpamMessage } from '../../../src/spam/spam-message.js'
import type { Read } from '../../../src/storage/prepared.js'
import { WriteConflict } from '../../../src/storage/writer/write.js'
import { temporaryDatabase } from '../../helpers/database.js'

async function unlearn({ read, commit }: BayesDeps, message: MessageRef): Promise<void> {
  const learned = findLearned(read, message)
  if (learned !== null) await commit(buildUnlearnWrites(learned))
}

const empty: SpamMessage = {
  fields: [],
  subject: '',
  from: [],
  replyTo: [],
  to: [],
  text: null,
  html: null,
  attachments: [],
  size: 0,
  receivedAt: 0,
  origin: null,
  authentication: null,
  parts: [],
  pages: [],
}
const saying = (text: string): SpamMessage => ({ ...empty, text })
const mailbox = (address: string, name = ''): SpamMessage['from'][number] => ({
  address: tryParseAddress(address),
  name,
})
const day = 86_400_000

const found: readonly (readonly [what: string, message: Partial<SpamMessage>, ...tokens: readonly string[]])[] = [
  ['words in lower case', { text: 'Cheap WATCHES, now.' }, 'cheap', 'watches', 'now'],
  ['prices and shouts', { text: 'only $99.50 today!!!!' }, '$99.50', 'today!!'],
  ['words of other scripts', { text: 'Дёшево купить' }, 'дёшево', 'купить'],
  ['letters in twos where nothing parts words', { text: '免费赠品' }, '免费', '费赠', '赠品'],
  ['long runs by their length', { text: `${'q'.repeat(37)} ${'z'.repeat(3000)}` }, 'skip:q3', 'skip:z'],
  ['the subject, marked', { subject: 'Last chance' }, 'subject:last', 'subject:chance'],
  ['names of fields', { fields: [{ name: 'x-campaign', value: '7' }] }, 'field:x-campaign'],
  ['fields of lists as one', { fields: [{ name: 'list-id', value: '<a.test>' }] }, 'field:list'],
  ['the mailer', { fields: [{ name: 'x-mailer', value: 'Blaster 2.0' }] }, 'mailer:blaster', 'mailer:2.0'],
  [
    'type and charset without the boundary',
    { fields: [{ name: 'content-type', value: 'text/html; boundary="a1b2"; charset="koi8-r"' }] },
    'type:text/html',
    'type:charset=',
    'type:koi8-r',
  ],
  ['the zone of the date', { fields: [{ name: 'date', value: 'Mon, 02 Sep 2002 12:00:00 -0700' }] }, 'zone:-0700'],
  [
    'the sender and its domains',
    { from: [mailbox('Offers@mail.shop.test', 'Big Sale')] },
    'from:mail.shop.test',
    'from:shop.test',
    'sender:offers@mail.shop.test',
    'from-name:big',
    'from-name:sale',
  ],
  ['who is to be answered', { replyTo: [mailbox('a@elsewhere.test')] }, 'reply-to:elsewhere.test'],
  [
    'hosts and words of links in text',
    { text: 'see http://u@www.Deals.test:80/win-prize/index.html?id=3' },
    'link:www.deals.test',
    'link:deals.test',
    'path:win',
    'path:prize',
  ],
  ['links to numbers', { text: 'http://192.0.2.7/a' }, 'link:number'],
  [
    'links and images of HTML',
    {
      html: '<a href="https://go.click.test/unsub&#115;cribe">x</a><img src=cid:part1><a href="MAILTO:a@b.test">y</a>',
    },
    'link:click.test',
    'path:unsubscribe',
    'link:cid:',
    'link:mailto:',
  ],
  [
    'what a reader sees of HTML',
    { html: '<p>Pro<b></b>fi<!-- x -->ts</p>gua&#114;anteed<br>fast' },
    'profits',
    'guaranteed',
    'fast',
  ],
  [
    'attachments',
    { attachments: [{ filename: 'a.PDF.exe', contentType: 'application/x-msdownload', size: 1 }] },
    'attached:application/x-msdownload',
    'attached:.exe',
  ],
  ['of which parts it is made', { text: '', html: '' }, 'parts:text+html+'],
]

t.test('tokens are what the table says', async (t) => {
  for (const [what, message, ...tokens] of found) {
    const all = tokenizeMessage({ ...empty, ...message })
    for (const token of tokens) t.ok(all.includes(token), `${what}: ${token}`, { all })
  }
})

t.test('what was written for filters, or on the way, is no token', async (t) => {
  const hidden = [
    '<html><head><title>meadow</title><style>.meadow{}</style></head><body>seen',
    '<div style="color:red; Display : NONE"><div>meadow</div>meadow</div>',
    '<span style="font-size:0px">meadow</span><font style="font-size: 1px">meadow</font>',
    '<script>var meadow</script><!-- meadow --><td style="font-size:1em">also <i style="font-size:10px">these</i></td>',
  ].join('')
  const fields = ['received', 'x-spam-status', 'delivered-to', 'authentication-results'].map((name) => ({
    name,
    value: 'meadow',
  }))
  const tokens = tokenizeMessage({ ...empty, html: hidden, fields })
  t.notOk(tokens.some((token) => token.includes('meadow')))
  t.notOk(tokens.some((token) => token.startsWith('field:')))
  t.ok(['seen', 'also', 'these'].every((word) => tokens.includes(word)))
})

t.test('hiding ends where a reader would see words again', async (t) => {
  const htmls: readonly string[] = [
    '<head><style>x</style>after',
    '<br style="display:none">after',
    '<p style="display:none">meadow<p>after',
    '<p style="display:none">meadow<b>meadow</b><div>after',
    '<ul><li style="display:none">meadow<li>after',
    '<div><span style="display:none">meadow</div>after',
    '<div style="display:none"><i>meadow</i><br>meadow</div>after',
    '<div style="display:none"/>after',
  ]
  for (const html of htmls) {
    const tokens = tokenizeMessage({ ...empty, html })
    t.ok(tokens.includes('after') && !tokens.includes('meadow'), html, { tokens })
  }
})

t.test('where a message came from is no token: a file does not know', async (t) => {
  const text = saying('hello there')
  const origin = { envelopeFrom: 'a@b.test', clientAddress: '192.0.2.1', helo: 'b.test', reverseName: null }
  const authentication = { spf: 'pass', dkim: 'fail', dmarc: 'none', iprev: 'pass' }
  t.same(tokenizeMessage({ ...text, origin, authentication, receivedAt: 9, size: 9 }), tokenizeMessage(text))
})

const anyText = fc.oneof(fc.string({ unit: 'binary' }), fc.string(), fc.stringMatching(/^[<>a-z&#;="' /!-]{0,80}$/))
const anyMailbox = fc.record({ address: fc.constantFrom(null, tryParseAddress('a@b.example.test')), name: anyText })
const anyMessage: fc.Arbitrary<SpamMessage> = fc.record({
  fields: fc.array(
    fc.record({ name: fc.oneof(anyText, fc.constantFrom('date', 'content-type', 'message-id')), value: anyText }),
  ),
  subject: anyText,
  from: fc.array(anyMailbox),
  replyTo: fc.array(anyMailbox),
  to: fc.array(anyMailbox),
  text: fc.option(anyText),
  html: fc.option(anyText),
  attachments: fc.array(fc.record({ filename: fc.option(anyText), contentType: anyText, size: fc.nat() })),
  size: fc.nat(),
  receivedAt: fc.nat(),
  origin: fc.constant(null),
  authentication: fc.constant(null),
  parts: fc.constant([]),
  pages: fc.constant([]),
})

function isBounded(tokens: readonly string[]): boolean {
  return tokens.length <= 1000 && new Set(tokens).size === tokens.length && tokens.every((token) => token.length <= 64)
}

t.test('any message at all has few, short and distinct tokens', async (t) => {
  fc.assert(fc.property(anyMessage, (message) => isBounded(tokenizeMessage(message))))
  const many = Array.from({ length: 30_000 }, (_, n) => `word${n}`).join(' ')
  const large: readonly Partial<SpamMessage>[] = [
    { text: many, html: many },
    { text: '-'.repeat(1e6), html: '<a '.repeat(1e5) },
    { html: '<table><tr><td style="display:none">'.repeat(3e4) },
    { html: `<p style="${'font-size:0'.repeat(1e5)}">${'&#x41;'.repeat(1e5)}`, subject: '漢'.repeat(1e6) },
    { text: 'http://'.repeat(1e5), fields: Array(9999).fill({ name: 'x'.repeat(1000), value: '-0700 '.repeat(1000) }) },
  ]
  for (const message of large) t.ok(isBounded(tokenizeMessage({ ...empty, ...message })))
  t.equal(tokenizeMessage({ ...empty, text: many }).length, 1000)
})

t.test('a hash of a token is a number of 48 bits that comes back from its bytes', async (t) => {
  fc.assert(
    fc.property(fc.array(fc.string()), (tokens) => {
      const keys = tokens.map(hashToken)
      t.ok(keys.every((key) => Number.isSafeInteger(key) && key >= 0 && key < 2 ** 48))
      t.strictSame(unpackKeys(packKeys(keys)), keys)
    }),
    { numRuns: 50 },
  )
  const different = new Set(Array.from({ length: 200_000 }, (_, n) => hashToken(`word${n.toString(36)}`)))
  t.equal(different.size, 200_000)
})

const close = (t: Tap, actual: number, wanted: number): void => {
  t.ok(Math.abs(actual - wanted) < 1e-9, `${actual} is ${wanted}`)
}
type Tap = { ok: (value: unknown, message: string) => unknown }

t.test('the mathematics is that of hand-computed cases', async (t) => {
  const even = { spam: 100, ham: 100 }
  close(t, computeTokenProbability({ spam: 0, ham: 0 }, even), 0.5)
  close(t, computeTokenProbability({ spam: 1, ham: 0 }, even), 1.225 / 1.45)
  close(t, computeTokenProbability({ spam: 3, ham: 1 }, even), 3.225 / 4.45)
  // 400 spam weigh as 100: 8 of them are 2.
  close(t, computeTokenProbability({ spam: 8, ham: 2 }, { spam: 400, ham: 100 }), 0.5)
  close(t, computeTokenProbability({ spam: 8, ham: 0 }, { spam: 400, ham: 100 }), 2.225 / 2.45)

  // Tables of chi-square: 5 % at 5.991 for 2 degrees, at 9.488 for 4; e^-m (1 + m) by hand.
  t.ok(Math.abs(chiSquareTail(5.991, 2) - 0.05) < 1e-4)
  t.ok(Math.abs(chiSquareTail(9.488, 4) - 0.05) < 1e-4)
  close(t, chiSquareTail(6, 4), 4 * Math.exp(-3))
  close(t, chiSquareTail(0, 8), 1)
  t.ok(chiSquareTail(3000, 300) < 1e-100)
  t.ok(chiSquareTail(1600, 1600) > 0.4, 'also where e^-m is nothing')

  close(t, combineProbabilities([]), 0.5)
  // One token: its tails are 1 - f and f themselves.
  close(t, combineProbabilities([0.9]), 0.9)
  close(t, combineProbabilities([0.9, 0.1]), 0.5)
  const both = (product: number): number => product * (1 - Math.log(product))
  close(t, combineProbabilities([0.9, 0.8]), (1 + (1 - both(0.1 * 0.2)) - (1 - both(0.9 * 0.8))) / 2)
})

const probability = fc.double({ min: 0.001, max: 0.999, noNaN: true })

t.test('more spam never makes a token or a message less like spam, and both sides are alike', async () => {
  const totals = fc.record({ spam: fc.integer({ min: 50, max: 5000 }), ham: fc.integer({ min: 50, max: 5000 }) })
  const count = fc.record({ spam: fc.nat(49), ham: fc.nat(49) })
  fc.assert(
    fc.property(totals, count, (messages, { spam, ham }) => {
      const now = computeTokenProbability({ spam, ham }, messages)
      const turned = { spam: messages.ham, ham: messages.spam }
      return (
        computeTokenProbability({ spam: spam + 1, ham }, messages) > now &&
        computeTokenProbability({ spam, ham: ham + 1 }, messages) < now &&
        Math.abs(computeTokenProbability({ spam: ham, ham: spam }, turned) + now - 1) < 1e-12
      )
    }),
  )
  fc.assert(
    fc.property(fc.array(probability, { minLength: 1, maxLength: 150 }), probability, (all, more) => {
      const [first = 0, ...rest] = all
      const now = combineProbabilities(all)
      const turned = combineProbabilities(all.map((one) => 1 - one))
      const raised = combineProbabilities([Math.max(first, more), ...rest])
      return now >= 0 && now <= 1 && Math.abs(now + turned - 1) < 1e-9 && raised >= now - 1e-9
    }),
  )
})

const knowing = (messages: TokenCount, tokens: Readonly<Record<string, TokenCount>>) => ({
  messages,
  tokens: new Map(Object.entries(tokens)),
})

t.test('it says nothing before 50 messages of each kind', async (t) => {
  const tokens = { prize: { spam: 40, ham: 0 } }
  t.equal(computeSpamProbability(['prize'], knowing({ spam: 49, ham: 900 }, tokens)), null)
  t.equal(computeSpamProbability(['prize'], knowing({ spam: 900, ham: 49 }, tokens)), null)
  t.ok((computeSpamProbability(['prize'], knowing({ spam: 50, ham: 50 }, tokens)) ?? 0) > 0.9)
})

t.test('what it does not know, or knows from both sides, it is unsure of', async (t) => {
  const messages = { spam: 100, ham: 100 }
  t.equal(computeSpamProbability(['never', 'seen'], knowing(messages, { other: { spam: 9, ham: 0 } })), 0.5)
  const sides = Object.fromEntries(
    Array.from({ length: 40 }, (_, n) => [`w${n}`, n % 2 === 0 ? { spam: 20, ham: 0 } : { spam: 0, ham: 20 }]),
  )
  const score = computeSpamProbability(Object.keys(sides), knowing(messages, sides))
  t.equal(buildBayesContribution(score ?? Number.NaN).name, 'BAYES_UNSURE')
})

t.test('certain spam alone is spam, likely spam is suspicious, ham takes points away', async (t) => {
  const points: readonly (readonly [probability: number, name: string, score: number])[] = [
    [1, 'BAYES_SPAM_CERTAIN', 8],
    [0.9999, 'BAYES_SPAM_CERTAIN', 8],
    [0.99, 'BAYES_SPAM_LIKELY', 6],
    [0.9, 'BAYES_SPAM_RATHER', 5],
    [0.7, 'BAYES_SPAM_PERHAPS', 4],
    [0.69, 'BAYES_UNSURE', 0],
    [0.3, 'BAYES_UNSURE', 0],
    [0.29, 'BAYES_HAM_LIKELY', -1],
    [0.009, 'BAYES_HAM_CERTAIN', -3],
    [0, 'BAYES_HAM_CERTAIN', -3],
  ]
  for (const [probability, name, score] of points) t.match(buildBayesContribution(probability), { name, score })
  fc.assert(
    fc.property(probability, probability, (a, b) => {
      const score = (p: number): number => buildBayesContribution(p).score
      return score(Math.max(a, b)) >= score(Math.min(a, b))
    }),
  )
})

interface TokenRow {
  readonly token: number
  readonly spam: number
  readonly ham: number
  readonly since: number
}

const tokenRows = (read: Read, workspaceId: string): TokenRow[] =>
  read('select token, spam, ham, since from bayes_tokens where workspace_id = ? order by token', [workspaceId])

/** Everything that judging can see. */
const memory = (read: Read, workspaceId: string): unknown => ({
  tokens: tokenRows(read, workspaceId).map(({ token, spam, ham }) => ({ token, spam, ham })),
  messages: readBayesCounts(read, workspaceId, []).messages,
})

t.test(
  'learning twice counts once, a correction leaves nothing of the first verdict, unlearning leaves nothing',
  async (t) => {
    const { database } = await temporaryDatabase(t)
    const { read } = database
    const lesson = (id: string, verdict: BayesVerdict, text: string) => ({
      workspaceId: 'ws_1',
      fingerprint: messageFingerprintOf(Buffer.from(id)),
      verdict,
      message: saying(text),
      at: 20 * day,
    })
    t.ok(await learnMessage(database, lesson('a', 'ham', 'lunch tomorrow')))
    const before = memory(read, 'ws_1')
    t.ok(await learnMessage(database, lesson('b', 'spam', 'win prize tomorrow')))
    t.notOk(await learnMessage(database, lesson('b', 'spam', 'win prize tomorrow')))
    const counts = readBayesCounts(read, 'ws_1', ['prize', 'tomorrow', 'lunch', 'never'])
    t.same(counts.messages, { spam: 1, ham: 1 })
    t.same(Object.fromEntries(counts.tokens), {
      prize: { spam: 1, ham: 0 },
      tomorrow: { spam: 1, ham: 1 },
      lunch: { spam: 0, ham: 1 },
    })

    t.ok(await learnMessage(database, lesson('b', 'ham', 'another text, as a later version may read it')))
    t.same(readBayesCounts(read, 'ws_1', []).messages, { spam: 0, ham: 2 })
    t.equal(readBayesCounts(read, 'ws_1', ['prize']).tokens.size, 0)
    t.same(readBayesCounts(read, 'ws_1', ['tomorrow']).tokens.get('tomorrow'), { spam: 0, ham: 1 })
    await unlearn(database, lesson('b', 'ham', ''))
    t.equal(findLearned(read, lesson('b', 'ham', '')), null)
    t.same(memory(read, 'ws_1'), before)
  },
)

t.test('one message learned from many sides at once counts once, as the last said', async (t) => {
  const { database } = await temporaryDatabase(t)
  const lesson = { workspaceId: 'ws_1', fingerprint: 'f', message: saying('win prize'), at: 0 }
  const verdicts: readonly BayesVerdict[] = ['spam', 'ham', 'spam', 'spam', 'ham', 'spam']
  await Promise.all(verdicts.map((verdict) => learnMessage(database, { ...lesson, verdict })))
  const { messages, tokens } = readBayesCounts(database.read, 'ws_1', ['prize'])
  t.equal(messages.spam + messages.ham, 1)
  t.same(tokens.get('prize'), messages)
  t.equal(findLearned(database.read, lesson)?.verdict, messages.spam === 1 ? 'spam' : 'ham')
})

t.test('writes made for a state that is gone miss, and change nothing', async (t) => {
  const { database } = await temporaryDatabase(t)
  const lesson = { workspaceId: 'ws_1', fingerprint: 'f', tokens: ['prize'], dated: 0, at: 0 }
  await database.commit(buildLearnWrites({ ...lesson, verdict: 'spam' }))
  const learned = findLearned(database.read, lesson)
  if (learned === null) throw new Error('not learned')
  await t.rejects(database.commit(buildLearnWrites({ ...lesson, verdict: 'ham' })), WriteConflict)
  await database.commit([...buildUnlearnWrites(learned), ...buildLearnWrites({ ...lesson, verdict: 'ham' })])
  await t.rejects(database.commit(buildUnlearnWrites(learned)), WriteConflict)
  t.same(readBayesCounts(database.read, 'ws_1', []).messages, { spam: 0, ham: 1 })
})

const vocabulary = ['prize', 'lunch', 'money', 'meeting', 'watch', 'report', 'pills', 'train']
const step = fc.record({
  workspace: fc.constantFrom('a', 'b'),
  message: fc.nat(5),
  verdict: fc.constantFrom<(BayesVerdict | 'none')[]>('spam', 'ham', 'none'),
  words: fc.subarray(vocabulary, { minLength: 1 }),
})
type Step = typeof step extends fc.Arbitrary<infer Value> ? Value : never

/** What is learned, as plainly as it can be said: workspace and message to verdict and words. */
type Model = Map<string, { readonly verdict: BayesVerdict; readonly keys: readonly number[] }>

async function take(deps: BayesDeps, model: Model, prefix: string, { workspace, message, verdict, words }: Step) {
  const learnable = { workspaceId: `${prefix}${workspace}`, fingerprint: `m${message}` }
  const name = `${learnable.workspaceId} ${learnable.fingerprint}`
  const said = saying(words.join(' '))
  if (verdict === 'none') {
    await unlearn(deps, learnable)
    model.delete(name)
  } else if (await learnMessage(deps, { ...learnable, verdict, message: said, at: 0 })) {
    model.set(name, { verdict, keys: tokenizeMessage(said).map(hashToken) })
  }
}

function modelCounts(model: Model, workspaceId: string): unknown {
  const learned = [...model].filter(([name]) => name.startsWith(`${workspaceId} `)).map(([, one]) => one)
  const of = (some: typeof learned): TokenCount => ({
    spam: some.filter(({ verdict }) => verdict === 'spam').length,
    ham: some.filter(({ verdict }) => verdict === 'ham').length,
  })
  const keys = [...new Set(learned.flatMap((one) => one.keys))].sort((a, b) => a - b)
  return {
    tokens: keys.map((token) => ({ token, ...of(learned.filter((one) => one.keys.includes(token))) })),
    messages: of(learned),
  }
}

t.test('after any sequence the counts are those of what is learned, and workspaces share nothing', async (t) => {
  const { database } = await temporaryDatabase(t)
  let run = 0
  await fc.assert(
    fc.asyncProperty(fc.array(step, { maxLength: 20 }), async (steps) => {
      run += 1
      const model: Model = new Map()
      for (const one of steps) await take(database, model, `ws_${run}`, one)
      for (const workspaceId of [`ws_${run}a`, `ws_${run}b`]) {
        t.strictSame(memory(database.read, workspaceId), modelCounts(model, workspaceId))
      }
    }),
    { numRuns: 30 },
  )
})

t.test('where tokens were forgotten, counts still speak only for messages that are in them', async (t) => {
  const { database } = await temporaryDatabase(t)
  const { read } = database
  const deps = { ...database, limits: { tokens: 3, messages: 10_000 } }
  let run = 0
  let forgotten = 0
  await fc.assert(
    fc.asyncProperty(fc.array(step, { minLength: 10, maxLength: 20 }), async (steps) => {
      run += 1
      const model: Model = new Map()
      for (const one of steps) await take(deps, model, `ws_${run}`, { ...one, workspace: 'a' })
      const workspaceId = `ws_${run}a`
      const learned = [...model.keys()].map((name) =>
        findLearned(read, { workspaceId, fingerprint: name.slice(workspaceId.length + 1) }),
      )
      const rows = tokenRows(read, workspaceId)
      for (const { token, spam, ham, since } of rows) {
        const within = learned.filter((one) => one !== null && one.seq >= since && one.keys.includes(token))
        t.equal(within.filter((one) => one?.verdict === 'spam').length, spam)
        t.equal(within.filter((one) => one?.verdict === 'ham').length, ham)
      }
      if (rows.length < new Set([...model.values()].flatMap(({ keys }) => keys)).size) forgotten += 1
    }),
    { numRuns: 15 },
  )
  t.ok(forgotten > 0, 'something was forgotten in some of them')
})

t.test('rare and old tokens are forgotten first, down to the bound and in one workspace alone', async (t) => {
  const { database } = await temporaryDatabase(t)
  const { read, commit } = database
  const learn = (workspaceId: string, id: string, at: number, ...tokens: readonly string[]) =>
    commit(buildLearnWrites({ workspaceId, fingerprint: id, verdict: 'spam', tokens, dated: at, at }))
  for (const workspaceId of ['ws_1', 'ws_2']) {
    await learn(workspaceId, '1', 100 * day, 'often', 'old')
    await learn(workspaceId, '2', 101 * day, 'often')
    await learn(workspaceId, '3', 125 * day, 'newer')
    await learn(workspaceId, '4', 140 * day, 'newest')
  }
  const kept = (workspaceId: string): unknown =>
    [...readBayesCounts(read, workspaceId, ['often', 'old', 'newer', 'newest']).tokens.keys()].sort()
  const forget = (tokens: number, messages = 10) => commit(expireBayesData(read, 'ws_1', { tokens, messages }))

  t.same(expireBayesData(read, 'ws_1', { tokens: 4, messages: 4 }), [])
  await forget(3)
  t.same(kept('ws_1'), ['newer', 'newest', 'often'])
  await forget(2)
  t.same(kept('ws_1'), ['newest', 'often'], 'seen twice on day 101 outweighs once on day 125')
  await forget(2, 3)
  const ids = ['1', '2', '3', '4'].filter(
    (fingerprint) => findLearned(read, { workspaceId: 'ws_1', fingerprint }) !== null,
  )
  t.same(ids, ['2', '3', '4'])
  t.same(readBayesCounts(read, 'ws_1', []).messages, { spam: 4, ham: 0 }, 'what was learned of it stays')
  t.same(expireBayesData(read, 'ws_1', { tokens: 2, messages: 3 }), [])
  t.same(kept('ws_2'), ['newer', 'newest', 'often', 'old'])
})

t.test('learning never leaves more than the bound and one message', async (t) => {
  const { database } = await temporaryDatabase(t)
  const deps = { ...database, limits: { tokens: 50, messages: 5 } }
  for (let n = 0; n < 12; n += 1) {
    const text = Array.from({ length: 40 }, (_, word) => `m${n}word${word}`).join(' ')
    await learnMessage(deps, {
      workspaceId: 'ws_1',
      fingerprint: `f${n}`,
      verdict: 'ham',
      message: saying(text),
      at: n * day,
    })
    t.ok(tokenRows(database.read, 'ws_1').length <= 50 + 42)
    t.ok(database.read('select 1 from bayes_learned', []).length <= 6)
  }
  t.equal(readBayesCounts(database.read, 'ws_1', ['m11word0']).tokens.size, 1, 'the last one is there')
})

t.test('a message of more tokens than one read asks for gets all of its counts', async (t) => {
  const { database } = await temporaryDatabase(t)
  const tokens = Array.from({ length: 300 }, (_, n) => `word${n}`)
  await database.commit(
    buildLearnWrites({ workspaceId: 'ws_1', fingerprint: 'f', verdict: 'ham', tokens, dated: 0, at: 0 }),
  )
  t.same([...readBayesCounts(database.read, 'ws_1', [...tokens, 'never']).tokens.keys()].sort(), [...tokens].sort())
  t.equal(readBayesCounts(database.read, 'ws_2', tokens).tokens.size, 0)
})

t.test('tokens are forgotten in the order of an index', async (t) => {
  const { database } = await temporaryDatabase(t)
  await database.commit(
    buildLearnWrites({ workspaceId: 'ws_1', fingerprint: 'f', verdict: 'ham', tokens: ['a', 'b'], dated: 0, at: 0 }),
  )
  const [write] = expireBayesData(database.read, 'ws_1', { tokens: 1, messages: 9 })
  const plan = database.read<{ detail: string }>(`explain query plan ${write?.sql}`, write?.parameters ?? [])
  const details = plan.map(({ detail }) => detail).join('\n')
  t.match(details, /bayes_tokens_by_worth/)
  t.notMatch(details, /TEMP B-TREE FOR ORDER/)
})
