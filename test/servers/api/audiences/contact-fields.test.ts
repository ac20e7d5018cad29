/** Resources of contacts. */
import t from 'tap'
import { toContactList, toContactResource } from '../../../../src/servers/api/audiences/contact-fields.js'
import type { Contact } from '../../../../src/workspaces/audiences/contacts.js'

const contactWith = (metadata: string) =>
  ({
    id: '01a21c06-2e88-7a8c-bbfb-20c36a0f2d0d',
    email: 'bob@example.com',
    first_name: 'Bo "b"',
    last_name: null,
    audience_id: null,
    subscribed: 1,
    metadata,
    created_at: 0,
    updated_at: 1,
  }) as Contact

t.test('a list shows each contact as it is shown alone, and parses no metadata', async (t) => {
  const rows = [contactWith('{}'), contactWith('{"plan":"pro €","list":[1,{"a":null}]}')]
  const { pieces } = await toContactList(rows)
  t.equal(Buffer.concat(pieces).toString(), JSON.stringify(rows.map(toContactResource)))
  const { pieces: asStored } = await toContactList([contactWith('{ "a" : 1 }')])
  t.match(Buffer.concat(asStored).toString(), '"metadata":{ "a" : 1 }')
})
