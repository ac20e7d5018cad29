/** Configuration files to begin with: the documented one, and short ones of what it leaves out. */
import { readFileSync } from 'node:fs'

const documented = readFileSync('config/posthorn.toml', 'utf8')

export const tomlSeeds: readonly string[] = [
  documented,
  // Each setting in force.
  documented.replace(/^# ?(?=[a-z_]+ = )/gm, ''),
  '[outbound.routes]\n"b.test" = "smtps://user:p%40ss@relay.test:465"\n"*" = "mx.test:25"\n[plans.free]\nemails_per_day = 10\n',
  '[service]\nhostname = "mail.a.test"\n[log]\nlevel = "debug"\n[log.levels]\nsmtp = "trace"\n[[x]]\ny = [1, 2.5, 1979-05-27T07:32:00Z, """a\nb""", { a = 1 }]\n',
]

export const tomlWords: readonly string[] = [
  '[',
  ']',
  '[[',
  ' = ',
  '"',
  '"""',
  "'''",
  '\n',
  '#',
  '{',
  '}',
  ',',
  '.',
  '[service]\n',
  '[outbound]\n',
  '[inbound]\n',
  '[sms.smpp]\n',
  '[plans.x]\n',
  'true',
  '0x1f',
  'nan',
  '-inf',
  '1979-05-27',
  '"1h"',
  '"10 MB"',
  '"127.0.0.1:0"',
  '__proto__',
  '"\\u0000"',
  '"\\ud800"',
]
