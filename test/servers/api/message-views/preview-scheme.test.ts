/** Previews in a light and a dark scheme, whatever the browser prefers. */
import t from 'tap'
import { showInScheme } from '../../../../src/servers/api/message-views/preview-scheme.js'

const OWN = '<style>@media (prefers-color-scheme: dark){a{}}@media ( Prefers-Color-Scheme:light ){b{}}</style><p>x'

t.test('conditions on the scheme are decided', async (t) => {
  t.match(showInScheme(OWN, 'dark'), '@media (min-width: 0){a{}}@media (max-width: 0){b{}}')
  t.match(showInScheme(OWN, 'dark'), ':root{color-scheme:dark!important}')
  t.match(showInScheme(OWN, 'light'), '@media (max-width: 0){a{}}@media (min-width: 0){b{}}')
  t.match(showInScheme(OWN, 'light'), ':root{color-scheme:light!important}')
})

t.test('a mail without conditions is inverted in the dark', async (t) => {
  t.match(showInScheme('<p>x', 'dark'), 'filter:invert(1)')
  t.notMatch(showInScheme('<p>x', 'light'), 'filter')
})
