// Bodies, headers and messages that cost much for their size. `build`: made when it is its turn, since they are large.
const MB = 1_048_576

const email = (more) => JSON.stringify({ from: 'app@blocks.test', to: ['bob@sink.test'], subject: 'x', ...more })
/** An email whose field `name` has this JSON text. */
const emailWith = (name, json, more = { text: 'x' }) => `${email(more).slice(0, -1)},"${name}":${json}}`
const names = (count, value = '1') => `{${Array.from({ length: count }, (_, at) => `"k${at}":${value}`).join(',')}}`
const form = (bytes, filename, type = 'text/csv') =>
  Buffer.concat([
    Buffer.from(
      `--xx\r\nContent-Disposition: form-data; name="file"; filename="${filename}"\r\nContent-Type: ${type}\r\n\r\n`,
    ),
    Buffer.from(bytes),
    Buffer.from('\r\n--xx--\r\n'),
  ])
const upload = 'multipart/form-data; boundary=xx'
const head = 'From: app@blocks.test\r\nTo: bob@sink.test\r\nSubject: x\r\n'
const htmlHead = `${head}MIME-Version: 1.0\r\nContent-Type: text/html; charset=utf-8\r\n`
const lines = (text, count) => `${text}\r\n`.repeat(count)

const htmls = [
  ['words', () => '<p>some words of a text</p>\n'.repeat(370_000)],
  ['entities', () => '&amp;'.repeat(2 * MB)],
  ['links', () => '<a href="https://a.test/x">y</a>'.repeat(300_000)],
  ['an <a> with 62,000 attributes', () => `<a ${'b=c d '.repeat(62_000)} href="https://a.test/">x</a>`],
  ['2,900 tags, 90 KB', () => '<div><table><tr><td>a b c</td></tr></div>'.repeat(480)],
  ['60 KB of nested lists', () => '<ul><li>'.repeat(1_400) + 'x '.repeat(24_000)],
  ['non-ASCII', () => 'ü€'.repeat(2 * MB)],
  ['250 KB without line ends', () => 'ä b '.repeat(62_000)],
  ['60 KB in equals signs', () => '=ü'.repeat(20_000)],
  ['unsubscribe links', () => '{{unsubscribe_url}}'.repeat(999) + 'x'.repeat(9 * MB)],
]

/** Resources of the workspace that some inputs need. */
export async function buildInputs({ api, key }) {
  const post = async (path, body, type = 'application/json') => {
    const headers = { authorization: `Bearer ${key}`, 'content-type': type }
    const answer = await fetch(`http://127.0.0.1:${api}/v1${path}`, { method: 'POST', headers, body })
    return answer.json()
  }
  const postJson = (path, body) => post(path, JSON.stringify(body))
  const template = await postJson('/templates', { name: 't', subject: 's', html: '<p>{{a}}</p>' })
  const audience = await postJson('/audiences', { name: 'a' })
  return [
    ...ofEmails(),
    ...ofTemplates(template.id, audience.id),
    ...ofStored(postJson, post),
    ...ofOthers(audience.id),
    ...ofCompatible(),
    ...ofHttp(key),
    ...ofSmtp(),
  ]
}

function ofEmails() {
  const path = '/v1/emails'
  const one = (name, build) => ({ name: `email: ${name}`, path, build })
  return [
    ...htmls.map(([name, build]) => one(`html, ${name}`, () => email({ html: build() }))),
    one('unsubscribe links to 50 recipients', () =>
      email({
        to: Array.from({ length: 50 }, (_, at) => `b${at}@sink.test`),
        html: `{{unsubscribe_url}}${'x'.repeat(9 * MB)}`,
      }),
    ),
    one('unsubscribe links at both ends, to 3 recipients', () =>
      email({
        to: ['b1@sink.test', 'b2@sink.test', 'b3@sink.test'],
        html: `{{unsubscribe_url}}${'some words\n'.repeat(700_000)}{{unsubscribe_url}}`,
        text: 'x',
      }),
    ),
    one('text of 10 MB', () => email({ text: 'some words '.repeat(950_000) })),
    one('text of 10 MB of CRLF', () => email({ text: '\r\n'.repeat(5 * MB) })),
    one('text of 20 MB of blanks', () => email({ text: ' '.repeat(20 * MB) })),
    one('22 MB of \\u0041', () => emailWith('html', `"${'\\u0041'.repeat(3_600_000)}"`)),
    one('22 MB of \\u20ac', () => emailWith('html', `"${'\\u20ac'.repeat(3_600_000)}"`)),
    one('a number of 21 MB', () => emailWith('subject', '1'.repeat(21 * MB), {})),
    one('a fraction of 21 MB', () => emailWith('subject', `0.${'1'.repeat(21 * MB)}`, {})),
    one('49,000 unknown fields', () => emailWith('tags', '[]').replace('{', `{${names(49_000).slice(1, -1)},`)),
    one('49,000 unknown fields of 400 bytes', () => emailWith('x', names(49_000, `"${'y'.repeat(400)}"`))),
    one('from of 20 MB', () => emailWith('from', `"${'a'.repeat(20 * MB)}"`).replace('"from":"app@blocks.test",', '')),
    one('from of 20 MB of <', () => emailWith('from', `"${'<'.repeat(20 * MB)}"`)),
    one('to of 20 MB of commas', () => emailWith('to', `"${','.repeat(20 * MB)}"`)),
    one('subject of 20 MB of blanks', () => emailWith('subject', `"${' '.repeat(20 * MB)}"`)),
    one('a name of 20 MB of blanks', () =>
      emailWith('from', `{"address":"app@blocks.test","name":"${' '.repeat(20 * MB)}x"}`),
    ),
    one('to with 49,000 addresses', () => emailWith('to', `[${Array(49_000).fill('"b@sink.test"').join()}]`)),
    one('headers with 49,000 names', () => emailWith('headers', names(49_000, '"x"'))),
    one('a header name of 20 MB', () => emailWith('headers', `{"${'X-'.repeat(10 * MB)}":"y"}`)),
    one('a header value of 20 MB', () => emailWith('headers', `{"X-A":"${'y '.repeat(10 * MB)}"}`)),
    one('49,000 tags', () => emailWith('tags', `[${Array(24_000).fill('{"name":"a","value":"b"}').join()}]`)),
    one('template_data with 49,000 names', () =>
      emailWith('template_data', names(49_000, '"x"'), { template_id: 'none' }),
    ),
    one('template_data with 49,000 objects', () =>
      emailWith('template_data', `{"a":[${Array(49_000).fill('{}').join()}]}`, { template_id: 'none' }),
    ),
    one('1,000,000 empty objects', () => emailWith('template_data', `{"a":[${'{},'.repeat(1_000_000)}{}]}`)),
    one('nested 10,000 deep', () => emailWith('template_data', `${'{"a":'.repeat(10_000)}1${'}'.repeat(10_000)}`)),
    one('9 MB of brackets', () => '['.repeat(9 * MB)),
    one('__proto__', () => emailWith('template_data', `{"__proto__":${names(40_000)}}`)),
    one('invalid UTF-8 at the end of 20 MB', () =>
      Buffer.concat([Buffer.from(`{"a":"${'ü'.repeat(10 * MB)}`), Buffer.from([0xff])]),
    ),
    one('an attachment of 10 MB', () =>
      email({ text: 'x', attachments: [{ filename: 'a', content: 'QUFB'.repeat(3_400_000) }] }),
    ),
    one('an attachment of 10 MB with junk', () =>
      email({ text: 'x', attachments: [{ filename: 'a', content: `${'QUFB'.repeat(3_400_000)}!!!!` }] }),
    ),
    one('an attachment name of 20 MB', () =>
      email({ text: 'x', attachments: [{ filename: 'a '.repeat(10 * MB), content: 'QUFB' }] }),
    ),
    one('a content type of 20 MB', () =>
      email({
        text: 'x',
        attachments: [{ filename: 'a', content: 'QUFB', content_type: `a/b${'; c=d'.repeat(4 * MB)}` }],
      }),
    ),
    {
      ...one('20 MB with an idempotency key', () => email({ text: 'x'.repeat(14 * MB) })),
      fields: ['Idempotency-Key: k1'],
    },
    {
      ...one('batch: 100 emails of 150 KB', () =>
        JSON.stringify(
          Array(100)
            .fill(0)
            .map((_, at) => ({
              from: 'app@blocks.test',
              to: `b${at}@sink.test`,
              subject: 'x',
              html: '<p>some words</p>\n'.repeat(8_500),
            })),
        ),
      ),
      path: '/v1/emails/batch',
    },
    { ...one('batch: 49,000 numbers', () => `[${Array(49_000).fill('1').join()}]`), path: '/v1/emails/batch' },
    {
      ...one(
        'batch: 100 emails with 450 unknown fields',
        () =>
          `[${Array(100)
            .fill(`${email({ text: 'x' }).slice(0, -1)},${names(450).slice(1)}`)
            .join()}]`,
      ),
      path: '/v1/emails/batch',
    },
  ]
}

function ofTemplates(id, audience) {
  const path = '/v1/templates'
  const body = (more) => JSON.stringify({ name: `t${Math.random()}`, subject: 's', ...more })
  const one = (name, build, where = path) => ({ name: `template: ${name}`, path: where, build })
  return [
    one('60,000 variables', () => body({ html: Array.from({ length: 60_000 }, (_, at) => `{{a${at}}}`).join('') })),
    one('10 MB of {{', () => body({ html: '{{'.repeat(5 * MB) })),
    one('10 MB of {{a', () => body({ html: '{{a '.repeat(2.5 * MB) })),
    one('10 MB', () => body({ html: '<p>words</p>'.repeat(800_000) })),
    one('1 MB of {{a.a.a…', () => body({ html: '{{a.a.a.a.a.a.a.a'.repeat(60_000) })),
    one('a name of 20 MB', () => JSON.stringify({ name: ' '.repeat(20 * MB), subject: 's', html: 'x' })),
    one('render with 49,000 values', () => `{"template_data":${names(49_000)}}`, `${path}/${id}/render`),
    one(
      'render with a value of 20 MB',
      () => `{"template_data":{"a":"${'&'.repeat(20 * MB)}"}}`,
      `${path}/${id}/render`,
    ),
    one(
      'broadcast of 10 MB',
      () =>
        JSON.stringify({
          name: 'b',
          audience_id: audience,
          from: 'app@blocks.test',
          subject: 's',
          html: '<p>{{email}}</p>'.repeat(600_000),
        }),
      '/v1/broadcasts',
    ),
  ]
}

const bob = { from: 'app@blocks.test', to: ['bob@sink.test'], subject: 'x' }
const largeHtml = '<p>some &quot;words&quot;</p>\n'.repeat(350_000)
/** Text that is stored as 900 KB and rendered as 13 MB. */
const repeated = { html: '{{{a}}}'.repeat(150), text: '{{a}}'.repeat(150) }

/** What is small and refers to much that is stored. `prepare`: returns what the request then has. */
function ofStored(postJson, post) {
  const file = async () =>
    (await post('/files?name=a.bin', form(Buffer.alloc(9 * MB, 97), 'a.bin', 'application/octet-stream'), upload)).data
      .file_cache_key
  const one = (name, prepare, method = 'GET') => ({ name: `stored: ${name}`, method, prepare })
  const email = async (more) => (await postJson('/emails', { ...bob, ...more })).id
  const template = async (words) =>
    (await postJson('/templates', { name: `r${Math.random()}`, subject: 's', ...words })).id
  return [
    one('an email of 10 MB', async () => ({ path: `/v1/emails/${await email({ html: largeHtml })}` })),
    one('an email of 10 MB, its message', async () => ({ path: `/v1/emails/${await email({ html: largeHtml })}/raw` })),
    one('an email of 10 MB, scheduled', async () => {
      const id = await email({ html: largeHtml, scheduled_for: new Date(Date.now() + 3_600_000).toISOString() })
      return { path: `/v1/emails/${id}` }
    }),
    one(
      'emails of 1 MB of text, changed',
      async () => {
        const id = await email({ text: 'ü'.repeat(MB), scheduled_for: new Date(Date.now() + 3_600_000).toISOString() })
        return {
          path: `/v1/emails/${id}`,
          body: JSON.stringify({ scheduled_for: new Date(Date.now() + 7_200_000).toISOString() }),
        }
      },
      'PATCH',
    ),
    one(
      'a file of 10 MB as an attachment',
      async () => ({
        path: '/v1/emails',
        body: JSON.stringify({ ...bob, text: 'x', attachments: [{ file_cache_key: await file() }] }),
      }),
      'POST',
    ),
    one(
      'a file of 10 MB to 3 recipients with unsubscribe links',
      async () => ({
        path: '/v1/emails',
        body: JSON.stringify({
          ...bob,
          to: ['b1@sink.test', 'b2@sink.test', 'b3@sink.test'],
          html: '{{unsubscribe_url}}',
          attachments: [{ file_cache_key: await file() }],
        }),
      }),
      'POST',
    ),
    one(
      'a template rendered to 13 MB',
      async () => ({
        path: `/v1/templates/${await template(repeated)}/render`,
        body: JSON.stringify({ template_data: { a: 'some words '.repeat(4_000) } }),
      }),
      'POST',
    ),
    one(
      'a template sent with 13 MB',
      async () => ({
        path: '/v1/emails',
        body: JSON.stringify({
          ...bob,
          template_id: await template(repeated),
          template_data: { a: 'some words '.repeat(4_000) },
        }),
      }),
      'POST',
    ),
    one(
      'a template of 1 MB with a value of 250 KB of quotes',
      async () => ({
        path: '/v1/emails',
        body: JSON.stringify({
          ...bob,
          template_id: await template({ html: '{{a}}'.repeat(6) + 'x'.repeat(900_000) }),
          template_data: { a: '"'.repeat(250_000) },
        }),
      }),
      'POST',
    ),
    one('templates of 8 MB, listed', async () => {
      for (let at = 0; at < 9; at += 1) await template({ html: '<p>"words"</p>'.repeat(70_000) })
      return { path: '/v1/templates?limit=50' }
    }),
    one('a template of 1 MB with 900 variables, shown', async () => ({
      path: `/v1/templates/${await template({ html: Array.from({ length: 900 }, (_, at) => `{{${'a'.repeat(60)}${at}}}${'"'.repeat(900)}`).join('') })}`,
    })),
  ]
}

function ofOthers(audience) {
  const csv = (line, count) => `email,first_name\n${Array.from({ length: count }, (_, at) => line(at)).join('\n')}\n`
  return [
    ['/v1/suppressions', 'suppression: an address of 20 MB', () => `{"email":"${'a'.repeat(20 * MB)}"}`],
    [
      '/v1/webhooks',
      'webhook: 49,000 events',
      () => `{"url":"https://a.test/","events":[${Array(49_000).fill('"email.sent"').join()}]}`,
    ],
    [
      '/v1/webhooks',
      'webhook: a URL of 20 MB',
      () => `{"url":"https://a.test/${'/../'.repeat(5 * MB)}","events":["email.sent"]}`,
    ],
    [
      '/v1/contacts/bulk',
      'contacts: 49,000 ids',
      () => `{"operation":"delete","contact_ids":[${Array(49_000).fill('"x"').join()}]}`,
    ],
    [
      `/v1/audiences/${audience}/contacts`,
      'contact: metadata with 49,000 names',
      () => `{"email":"b@sink.test","metadata":${names(49_000)}}`,
    ],
    ['/v1/domains', 'domain: a name of 20 MB of dots', () => `{"domain":"${'a.'.repeat(10 * MB)}"}`],
    ['/v1/api-keys', 'key: 49,000 scopes', () => `{"name":"k","scopes":[${Array(49_000).fill('"read"').join()}]}`],
  ]
    .map(([path, name, build]) => ({ name, path, build }))
    .concat([
      {
        name: 'import: 20,000 contacts',
        path: `/v1/audiences/${audience}/import`,
        type: upload,
        build: () =>
          form(
            csv((at) => `c${at}@sink.test,N`, 20_000),
            'c.csv',
          ),
      },
      {
        name: 'import: 5 MB of quotes',
        path: `/v1/audiences/${audience}/import`,
        type: upload,
        build: () => form('"'.repeat(5 * MB), 'c.csv'),
      },
      {
        name: 'import: 5 MB of commas',
        path: `/v1/audiences/${audience}/import`,
        type: upload,
        build: () => form(`email\n${','.repeat(5 * MB)}`, 'c.csv'),
      },
      {
        name: 'import: 20,000 suppressions',
        path: '/v1/suppressions/import',
        type: upload,
        build: () =>
          form(
            csv((at) => `s${at}@sink.test,N`, 20_000),
            'c.csv',
          ),
      },
      {
        name: 'file of 9 MB',
        path: '/v1/files?name=a.bin',
        type: upload,
        build: () => form(Buffer.alloc(9 * MB, 97), 'a.bin', 'application/octet-stream'),
      },
      {
        name: 'form: 5 MB of boundaries',
        path: '/v1/files?name=a.bin',
        type: upload,
        build: () => form('\r\n--x'.repeat(MB), 'a.bin'),
      },
      {
        name: 'urlencoded of 5 MB',
        path: '/v1/emails',
        type: 'application/x-www-form-urlencoded',
        build: () => 'a=b&'.repeat(1.25 * MB),
      },
    ])
}

/** Forms of Mailgun's clients: files are bytes in them, which JSON never has. */
function ofCompatible() {
  const texts = [
    ['from', 'app@blocks.test'],
    ['to', 'bob@sink.test'],
    ['subject', 'x'],
    ['text', 'x'],
  ]
  const fields = texts.map(
    ([name, value]) => `--xx\r\nContent-Disposition: form-data; name="${name}"\r\n\r\n${value}\r\n`,
  )
  const withFile = (name, bytes) =>
    Buffer.concat([
      Buffer.from(`${fields.join('')}--xx\r\nContent-Disposition: form-data; name="${name}"; filename="a.bin"\r\n\r\n`),
      Buffer.from(bytes),
      Buffer.from('\r\n--xx--\r\n'),
    ])
  const one = (name, path, build) => ({
    name: `mailgun: ${name}`,
    path: `/v3/blocks.test/${path}`,
    type: upload,
    build,
  })
  return [
    one('an attachment of 9 MB', 'messages', () => withFile('attachment', Buffer.alloc(9 * MB, 97))),
    one('a message of 9 MB in short lines', 'messages.mime', () =>
      withFile('message', `${head}\r\n${lines('x', 3 * MB)}`),
    ),
  ]
}

function ofHttp(key) {
  const raw = (name, text, answers) => ({ name: `http: ${name}`, raw: Buffer.from(text, 'latin1'), answers })
  const withKey = `Host: a\r\nAuthorization: Bearer ${key}\r\n`
  return [
    raw('2,000 requests in one write, without a key', 'GET /x HTTP/1.1\r\nHost: a\r\n\r\n'.repeat(2_000), 2_000),
    raw('3,600 requests without Host', 'GET / HTTP/1.1\r\n\r\n'.repeat(3_600), 3_600),
    raw('2,000 probes in one write', 'GET /healthz HTTP/1.1\r\nHost: a\r\n\r\n'.repeat(2_000), 2_000),
    raw('500 requests with bodies', 'POST /v1/x HTTP/1.1\r\nHost: a\r\nContent-Length: 2\r\n\r\n{}'.repeat(500), 500),
    raw(
      'a body of 2 MB in chunks of a byte',
      `POST /v1/emails HTTP/1.1\r\n${withKey}Content-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\n${'1\r\n[\r\n'.repeat(350_000)}0\r\n\r\n`,
    ),
    raw('a query of 8 KB', `GET /v1/emails?${'a&'.repeat(4_000)} HTTP/1.1\r\n${withKey}\r\n`),
    raw('a query of 8 KB of %', `GET /v1/emails?a=${'%'.repeat(7_900)} HTTP/1.1\r\n${withKey}\r\n`),
    raw('a cookie of 15 KB', `GET /ui/api/session HTTP/1.1\r\nHost: a\r\nCookie: ${';'.repeat(15_000)}\r\n\r\n`),
    raw(
      'X-Forwarded-For of 15 KB',
      `GET /v1/emails HTTP/1.1\r\nX-Forwarded-For: ${'127.0.0.1,'.repeat(1_500)}\r\n${withKey}\r\n`,
    ),
    raw('2,000 header fields', `GET /v1/emails HTTP/1.1\r\n${withKey}${'a:b\r\n'.repeat(2_900)}\r\n`),
  ]
}

function ofSmtp() {
  const one = (name, build) => ({ name: `smtp: ${name}`, message: build() })
  return [
    one('a header of 100,000 fields', () => `${head}${lines('X-A: b', 100_000)}\r\nx`),
    one('a field of 100,000 lines', () => `${head}X-A: b\r\n${lines(' c', 100_000)}\r\nx`),
    one('50,000 X-Service fields', () => `${head}${lines('X-Service-Tag: a=b', 50_000)}\r\nx`),
    one('a line of 1 MB', () => `${head}\r\n${'x'.repeat(MB)}`),
    one(
      'To with 100,000 addresses',
      () => `From: app@blocks.test\r\nTo: ${Array(100_000).fill('b@sink.test').join(',\r\n ')}\r\n\r\nx`,
    ),
    one('From with 100,000 addresses', () => `From: ${Array(100_000).fill('b@sink.test').join(',\r\n ')}\r\n\r\nx`),
    one(
      'a subject of 1 MB of encoded words',
      () => `From: app@blocks.test\r\nSubject: ${lines(' =?utf-8?q?=61?=', 60_000)}\r\nx`,
    ),
    one('10 MB of text', () => `${head}\r\n${lines('some words of a message', 400_000)}`),
    one('10 MB of dots', () => `${head}\r\n${lines('..', 2_500_000)}`),
    one(
      '900 KB of html with links',
      () => `${htmlHead}X-Service-Track: yes\r\n\r\n${lines('<a href="https://a.test/x">y</a>', 28_000)}`,
    ),
    one(
      '10 MB of html with links, tracked',
      () => `${htmlHead}X-Service-Track: yes\r\n\r\n${lines('<a href="https://a.test/x">y</a>', 320_000)}`,
    ),
    one(
      'a tracked part before an attachment of 10 MB',
      () =>
        `${head}X-Service-Track: yes\r\nMIME-Version: 1.0\r\nContent-Type: multipart/mixed; boundary=b\r\n\r\n--b\r\nContent-Type: text/html\r\n\r\n${lines('<a href="https://a.test/x">y</a>', 25_000)}--b\r\nContent-Type: application/octet-stream\r\nContent-Transfer-Encoding: base64\r\n\r\n${lines('QUFB'.repeat(19), 130_000)}--b--\r\n`,
    ),
    one('names of 8 KB of encoded words', () =>
      `From: ${'=?utf-8?q?=61?= '.repeat(480)}<app@blocks.test>\r\nTo: ${'=?utf-8?q?=61?= '.repeat(60_000)}<bob@sink.test>\r\nCc: ${'"a" <a@b.c>, '.repeat(80_000)}\r\n\r\nx`
        .replaceAll('?= ', '?=\r\n ')
        .replaceAll(', ', ',\r\n '),
    ),
    one('10 MB of html', () => `${htmlHead}\r\n${lines('<p>some words of a text</p>', 360_000)}`),
    one(
      '900 KB of html in quoted-printable',
      () => `${htmlHead}Content-Transfer-Encoding: quoted-printable\r\n\r\n${lines('=3C=61=3E'.repeat(7), 13_000)}`,
    ),
    one(
      '20,000 parts',
      () =>
        `${head}MIME-Version: 1.0\r\nContent-Type: multipart/mixed; boundary=b\r\n\r\n${lines('--b\r\nContent-Type: text/html\r\n\r\n<a href=x>', 20_000)}`,
    ),
  ]
}
