/** The other side's rules and troubles: last, since these words also garnish every other refusal. */
import type { ReplyPattern } from './pattern.js'

export const patternsOfServer: readonly ReplyPattern[] = [
  {
    reason: 'routing-loop',
    texts: [
      /too many hops|hop ?count|\b(mail|routing|message) (is )?loop(s|ing)?\b/i,
      /loops back|already has my delivered-to/i,
    ],
  },
  {
    reason: 'tls',
    texts: [
      /starttls|\btls\b.{0,60}(requir|must|fail|need|mandatory|support|encrypt)/i,
      /(must|require)\w* .{0,40}\b(tls|encrypt)|encryption (is )?(requir|need)/i,
    ],
  },
  // Exchange: a group or person that takes mail from its own organisation alone.
  { reason: 'policy', texts: [/\b(AuthRequired|NotAuthorized)\b/] },
  {
    reason: 'credentials',
    texts: [
      /authentication (is )?(required|failed|unsuccessful|needed|credentials|invalid)/i,
      /(user ?name|password|credentials).{0,40}(not accepted|incorrect|invalid|wrong|fail)/i,
      /(must|please|need to) (authenticate|log ?in|be authenticated)/i,
    ],
  },
  {
    reason: 'dns',
    texts: [/\b(dns|name ?server|cname)\b.{0,50}(fail|error|temporar|time-?d? ?out|trouble|problem|servfail)/i],
  },
  { reason: 'timeout', texts: [/\btimed out|time-?out (exceeded|while|waiting)/i] },
  {
    reason: 'unreachable',
    texts: [
      /(network|host|destination) (is )?unreachable|no route to host|network error|socket error/i,
      /unable to (connect|establish)|could ?n[o']t connect|connection (was )?refused/i,
      /able to establish an? \w* ?connection/i,
      /did not accept our requests to connect/i,
    ],
  },
  {
    reason: 'policy',
    texts: [
      /\bpolic(y|ies)\b|prohibit|protocol violation|\bmoderated\b|\brestricted\b/i,
      /not (authori[sz]ed|allowed|permitted)\b|access (is |was )?denied|authenticated senders/i,
      /(message|mail|e-?mail|content) (was |is |has been )?(filtered|refused|blocked|denied|disallowed)/i,
      /(rejected|refused|blocked) by (the |a )?(recipient|user|administrator|local|mail rule|system)/i,
    ],
  },
  {
    reason: 'remote-error',
    texts: [
      /(internal|local|system|server|config(uration)?|temporary|database)\S? (\w+ ){0,2}(error|problem|fail|fault)/i,
      /(service|server|system|mailbox|resources?) (\w+ ){0,3}(not available|unavailable|busy|down|overloaded|locked)/i,
      /not accepting (network )?messages|insufficient (system |disk )?(storage|resources|memory|space)/i,
      /queue file|transaction failed|(try|come back) (again|later)|closing (transmission|connection)|maintenance/i,
    ],
  },
  {
    reason: 'protocol',
    texts: [
      /syntax error|bad sequence|protocol error|pipelining|out of sequence|malformed address/i,
      /(command|parameter|argument)s? .{0,40}(not (implemented|recogni[sz]ed|supported)|unrecogni[sz]ed|unknown)/i,
      /(unknown|unrecogni[sz]ed|invalid|unimplemented|unexpected) (smtp )?(command|parameter|argument)/i,
    ],
  },
]
