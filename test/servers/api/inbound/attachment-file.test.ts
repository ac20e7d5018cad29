/** Types under which attachments are downloaded. */
import t from 'tap'
import { downloadTypeOf } from '../../../../src/servers/api/inbound/attachment-file.js'

t.test('types that a browser would run are served as application/octet-stream', (t) => {
  for (const type of [
    'image/png',
    'application/pdf',
    'text/plain',
    'application/vnd.ms-excel',
    'application/ms-tnef',
  ]) {
    t.equal(downloadTypeOf(type), type)
  }
  const run = [
    'text/html',
    'application/xhtml+xml',
    'image/svg+xml',
    'text/xml',
    'application/xml',
    'text/javascript',
    'application/javascript',
    'application/vnd.mozilla.xul+xml',
    'multipart/related',
    'text/css',
    'application/x-shockwave-flash',
    'application/java-archive',
  ]
  for (const type of run) t.equal(downloadTypeOf(type), 'application/octet-stream', type)
  t.end()
})
