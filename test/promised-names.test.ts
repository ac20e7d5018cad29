/** Names that a release has noted are there: settings, commands, fields of the REST API, events, metrics, log lines. */
import { readFileSync } from 'node:fs'
import t from 'tap'
import {
  type ApiDocument,
  findBroken,
  formatPromised,
  listNames,
  noteRelease,
  parsePromised,
  readPromised,
} from './helpers/code/promised-names.js'
import { testDaemon } from './helpers/daemon/test-daemon.js'

const before = {
  release: '1.2.0',
  names: { settings: ['node.name'], 'POST /v1/a: request': ['to'], 'POST /v1/a: required': ['to'] },
}

t.test('what the last release of this major version had is still there', async (t) => {
  const app = await testDaemon(t)
  const names = listNames((await app.rest('GET', '/v1/openapi.json', { key: null })).json<ApiDocument>())
  t.same(findBroken(readPromised(), names), [])
  const some = {
    settings: ['storage.url', 'tls.acme.email'],
    commands: ['queue list', 'queue list --domain', 'check --upgrade'],
    metrics: ['posthorn_queue_entries'],
    'log lines': ['serving'],
    'codes of errors': ['validation_error'],
    'GET /v1/events: parameters': ['cursor'],
    'POST /v1/emails: request': ['subject', 'attachments.filename'],
    'POST /v1/emails: answer': ['id', 'recipient_counts.queued'],
    'POST /v1/audiences: required': ['name'],
    'POST /v1/emails: required': ['from', 'tags.name'],
    'event email.bounced: fields': ['type', 'data.bounce_type'],
    'event email.bounced: always there': ['type', 'data.email_id'],
  }
  for (const [group, wanted] of Object.entries(some)) {
    const absent = wanted.filter((name) => !names[group]?.includes(name))
    t.same(absent, [], `the finder sees ${group}`)
  }
})

t.test('a version since 1.0 has noted its names', async (t) => {
  const { version } = JSON.parse(readFileSync('package.json', 'utf8')) as { readonly version: string }
  t.equal(readPromised().release, version.startsWith('0.') ? '' : version)
})

t.test('a name that is gone, and a field that must be there, are broken promises', async (t) => {
  t.same(findBroken(before, { ...before.names, settings: ['node.name', 'node.new'] }), [])
  t.match(findBroken(before, { ...before.names, settings: [] }), [
    /^settings: node\.name is gone, and was in 1\.2\.0: /,
  ])
  t.match(findBroken(before, { ...before.names, 'POST /v1/a: required': ['to', 'from'] }), [/: from is required, /])
  const nested = { ...before.names, 'POST /v1/a: required': ['to', 'to.name', 'new.name'] }
  t.match(findBroken(before, nested), [/: to\.name is required, /], 'a new object may have fields that it needs')
  t.match(findBroken(before, { settings: ['node.name'] }), [/^POST \/v1\/a: request: to is gone/])
})

t.test('a release notes its names, and refuses to lose one within a major version', async (t) => {
  const now = {
    ...before.names,
    settings: ['node.name', 'node.new'],
    'GET /v1/b: request': [],
    'GET /v1/b: required': [],
  }
  t.same(noteRelease(before, '1.3.0', now), {
    release: '1.3.0',
    names: { ...before.names, settings: ['node.name', 'node.new'], 'GET /v1/b: required': [] },
  })
  t.throws(() => noteRelease(before, '1.3.0', { ...now, settings: [] }), /node\.name is gone/)
  t.match(noteRelease(before, '2.0.0', { settings: [] }), { release: '2.0.0' })
})

t.test('what is noted is read back', async (t) => {
  const noted = { release: '1.3.0', names: { ...before.names, 'GET /v1/b: required': [] } }
  t.same(parsePromised(formatPromised(noted)), noted)
})
