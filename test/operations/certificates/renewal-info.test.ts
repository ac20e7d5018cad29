/** Ids of certificates for renewal information. */
import { readFileSync } from 'node:fs'
import t from 'tap'
import { renewalInfoId } from '../../../src/operations/certificates/renewal-info.js'
import { createSelfSigned } from '../../helpers/certificates.js'

t.test('the key identifier and the serial number of the example in RFC 9773 section 4.1', async (t) => {
  const pem = readFileSync('test/fixtures/certificates/key-identifier.pem', 'utf8')
  t.equal(renewalInfoId(pem), 'aYhba4dGQEHhs3uEe6CuLN4ByNQ.AIdlQyE')
})

t.test('none without the key identifier of an issuer', async (t) => {
  t.equal(renewalInfoId((await createSelfSigned(['a.test'])).cert), null)
})
