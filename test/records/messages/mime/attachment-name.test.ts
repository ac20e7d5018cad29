/** The names under which attachments are listed. */
import t from 'tap'
import { attachmentNameOf } from '../../../../src/records/messages/mime/attachment-name.js'

t.test('an attachment without a name gets one from its place and type', (t) => {
  t.equal(attachmentNameOf({ filename: 'bill.pdf', content_type: 'application/pdf' }, 0), 'bill.pdf')
  t.equal(attachmentNameOf({ filename: null, content_type: 'application/pdf' }, 0), 'attachment-1.pdf')
  t.equal(attachmentNameOf({ filename: null, content_type: 'constructor' }, 1), 'attachment-2')
  t.end()
})
