/** Replies about the server's own rules and problems. They come last, because other refusals use their phrases too. */
import type { ReplyPattern } from './pattern.js'

export const patternsOfServer: readonly ReplyPattern[] = [
  {
    reason: 'routing-loop',
    texts: [
      /too many hops|hop ?count|\b(mail|routing|message) (is )?loop(s|ing)?\b/i,
      /loops back|points? back to|already has my delivered-to|isn.t in my control|(is|points? to) (the )?local host|best mx host.{0,40}(local|itself|myself|me)\b/i,
      /(loop|recursion) (was |is )?detect|too many received|(maximum|max) (number of )?hops/i,
    ],
  },
  {
    reason: 'tls',
    texts: [
      /starttls|\btls\b.{0,60}(requir|must|fail|need|mandatory|support|encrypt)/i,
      /(must|require)\w{0,20} .{0,40}\b(tls|encrypt)|encryption (is )?(requir|need)/i,
    ],
  },
  // Exchange sends this for a group or person that accepts mail only from its own organization.
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
  {
    reason: 'connection-lost',
    texts: [
      /lost connection|connection (was |has been )?(lost|reset|closed|dropped|broken|aborted|died|terminated)|greeting failed/i,
    ],
  },
  { reason: 'timeout', texts: [/\btimed[ -]?out|\btime-?out\b/i] },
  {
    reason: 'unreachable',
    texts: [
      /communications? (failure|problem)|address family mismatch/i,
      /(network|host|destination) (is )?unreachable|no route to host|network error|socket error/i,
      /unable to (connect|establish)|could ?n[o']t connect|connection (was )?refused/i,
      /able to establish an? \w{0,20} ?connection|failed to connect|connect(ion)? (attempt )?failed/i,
      /did not accept our requests to connect|(host|server|system|domain) (is |was )?(not reachable|down\b)/i,
      /(host|server|system|exchanger|destination|mx)\b.{0,40}(cannot|could not|can.t|couldn.t) be (reached|contacted)/i,
      /(host|server|system|exchanger|destination|mx)\b.{0,40}(not respond|no response|no answer|did not answer|not answer)/i,
      /no route to (the )?(host|domain|destination)|unable to (reach|contact)|network (is )?down/i,
    ],
  },
  {
    reason: 'policy',
    texts: [
      /\bpolic(y|ies)\b|policy violation|prohibit|protocol violation|permission to send|will not accept (the |this |any )?(delivery|e-?mail|mail|message)/i,
      /envelope rejected|protocol violation|\bmoderated\b|\brestricted\b/i,
      /\bsecurity (reason|risk|threat|violation|concern|problem)|\bsuspicious\b|\b(mail|content|custom) rules?\b/i,
      /(only|just) accepts? (mail|messages|e-?mail) from|(does not|doesn.t|not) accept(ing)? (mail|messages|e-?mail) from/i,
      /(not|no) (on|in) .{0,30}(white|allow|safe|accept)\w{0,3}[ -]?list/i,
      /not (authori[sz]ed|allowed|permitted)\b|access (is |was )?denied|authenticated senders/i,
      /(message|mail|e-?mail|content) (was |is |has been )?(filtered|refused|blocked|denied|disallowed)/i,
      /(rejected|refused|blocked|denied) by (the |a |our |your )?(recipient|user|admin|local|mail rule|system|filter|server|gateway)/i,
    ],
  },
  {
    reason: 'remote-error',
    texts: [
      /(internal|local|system|server|config(uration)?|temporary|database|software|disk|ldap|backend|transport)\S? (\w{1,20} ){0,2}(error|problem|fail|fault)/i,
      /(error|problem|fail\w{0,4}) (in|with|of|on|while) (\w{1,20} ){0,2}(processing|configuration|server|system|database|backend)/i,
      /(service|server|system|mailbox|resources?|host) (\w{1,20} ){0,3}(not available|unavailable|busy|down|overloaded|locked)/i,
      /not accepting (network )?messages|insufficient (system |disk )?(storage|resources|memory|space)/i,
      /(no space left|disk (is )?full|out of (memory|disk|resources)|load (average|too)|too (busy|high) load|overload)/i,
      /(can ?not|can.t|could not|unable to|failed to|cannot) (open|create|write|append|access|lock|start|execute|chdir|allocate|store|save|process|complete|queue)\b/i,
      /permission denied|i\/o error|input\/output error|read-?only file|no such file/i,
      /(command|program|process|pipe|mailer|procmail|maildrop|script|filter)\b.{0,60}(died|exit|return|fail|output|status|signal|terminated)/i,
      /queue file|transaction failed|(try|come back) (again|later)|closing (transmission|connection)|maintenance/i,
    ],
  },
  {
    reason: 'protocol',
    texts: [
      /syntax error|bad syntax|bad sequence|protocol error|pipelining|out of sequence|malformed address/i,
      /(command|parameter|argument)s? .{0,40}(not (implemented|recogni[sz]ed|supported)|unrecogni[sz]ed|unknown)/i,
      /(unknown|unrecogni[sz]ed|invalid|unimplemented|unexpected) (smtp )?(command|parameter|argument)/i,
    ],
  },
]
