/** Tests which lines of a remedy are one text to copy. */
import t from 'tap'
import { joinSettings } from '../../../src/operations/concerns/remedy-blocks.js'

t.test('a table goes with its settings, and commands stand alone', async (t) => {
  t.same(joinSettings(['dig a.test MX', '[dns]', 'servers = []   # of the system', 'systemctl restart posthorn']), [
    'dig a.test MX',
    '[dns]\nservers = []   # of the system',
    'systemctl restart posthorn',
  ])
  t.same(joinSettings(['[service]', 'zone = "a.test"', '[dns]', 'servers = []', 'nameservers = []']), [
    '[service]\nzone = "a.test"',
    '[dns]\nservers = []\nnameservers = []',
  ])
  t.same(joinSettings(['a.test. A 192.0.2.1', 'zone = "x"']), ['a.test. A 192.0.2.1', 'zone = "x"'])
  t.same(joinSettings(['[tls.acme]   # or files of your own', 'enabled = true']), [
    '[tls.acme]   # or files of your own\nenabled = true',
  ])
  t.same(joinSettings([]), [])
})
