/** Replies about the mailbox and its domain. Most replies that suppress an address are here: keep them narrow. */
import type { ReplyPattern } from './pattern.js'

/** Words before a noun that then names our mailbox, our sender or our host. */
const notOurs =
  "(?<!\\b(?:(?:for|of) (?:this|the|that|your)|your|our|sender|sender's|senders|sending|source|from|client|ip|host|hostname|server|remote|network|return|mx|dns|smtp|login|reply|reply[ -]to|web)[ -](?:e-?mail |mail )?)"

const nouns =
  'user ?name|user ?id|user|mail[ -]?box|mail-?drop|recipient|rcpt|account|alias|addressee|member|customer|subscriber|person|address|inbox'

/**
 * The vocabulary of sentences about mailboxes: names of a mailbox, and what is said of it.
 *
 * The texts are parts of patterns, which `sentence` joins. Every repetition has a bound.
 *
 * This one matches `the mailbox`, `<user>`, `recipient's`.
 */
const mailbox = `${notOurs}\\b(?:${nouns})\\S{0,3}`

/** The same after an adjective. */
const mailboxNoun = `(?:${nouns}|local[ -]part)`

/** Up to five words between subject and predicate, none of which changes the subject. */
const gap =
  '(?: (?!domain|host|mx\\b|server|relay|sender|client|dns|ip\\b|command|message|polic|password|credential|auth|login|access|from\\b|by\\b|but\\b|\\W?\\d{1,3}\\.\\d)\\S{1,80}){0,5}'

const linkingVerb =
  "(?:'s| is| was| are| were| has| have| has been| have been)?(?: been| now| currently| temporarily| permanently| either)?"

const negation = '(?:does|do|did|is|was|are|has) ?(?:not|n.t|no)|do[se]{1,2}n.?t|dose not|don.t|didn.t|isn.t|wasn.t'

/** Words that say that the mailbox does not exist. */
const absentWords =
  '(?:unknown|undefined|non-?exist\\w{1,4}|inexist\\w{1,4}|unrouteable|un-?recogni[sz]ed|invalid|illegal|incorrect|not (?:an? )?(?:known|found|listed|recogni[sz]ed|exist\\w{0,3}|be found|defined|registered|valid|in (?:our|the|this|my)|here\\b|on this|local\\b|hosted|deliverable))'

/** Words that say that the mailbox no longer exists. */
const goneWords =
  '(?:deleted|removed|moved|renamed|retired|no longer (?:on|valid|available|exists?|in use|here|with|used|active|monitored|registered|work\\w{0,3}|employed|known))'

/** Words that say that the mailbox is not in use. */
const inactiveWords =
  '(?:disabled|suspended|de-?activated|inactive|frozen|locked|discontinued|closed|expired|terminated|not (?:yet )?activ(?:e|ated)\\b|dormant|abandoned|on hold|(?:temporarily )?limited)'

const spareWords = '(?:more |free |disk |storage |mail ?box |enough )?'

/** Full mailboxes in words that also mean pace. Match them before the patterns of pace. */
export const patternsOfFullMailbox: readonly ReplyPattern[] = [
  {
    reason: 'mailbox-full',
    texts: [
      /too many (e-?mails|mails|messages) (stored )?(in|on|for) (the |this |his |user'?s? |recipient'?s? )?(mail[ -]?(box|drop)|inbox|folder|account)/i,
      /\b(mail ?box|mail drop|inbox|account|user|recipient)\b.{0,40}(has|have|contains?|holds?|with|:|of) too many (e-?mails|mails|messages)/i,
      /(number|count) of (messages|mails|e-?mails) in .{0,40}(mail ?box|inbox|folder)/i,
    ],
  },
]

export const patternsOfRecipient: readonly ReplyPattern[] = [
  {
    reason: 'expired',
    texts: [
      /(message|envelope|delivery time) (has |is |was )?expired|failing for a long time/i,
      /(queue|retention|delivery) (time|lifetime|period) (expired|exceeded)|after multiple retries/i,
      /(unable to deliver|not delivered|undelivered|queued|in (the|our) queue|retried|tried) .{0,20}(for|in|after|within|than|over) \d{1,5} (second|minute|hour|day|week)/i,
      /in the time limit|not reached for any host after a long failure|giving up after \d/i,
      /(maximum|max\.?|number of|too many) (delivery |retry )?(retries|attempts)\b/i,
    ],
  },
  {
    reason: 'null-mx',
    texts: [
      /null ?mx|(host|domain)\S{0,80} (does not accept|doesn.t accept|accepts no|does not receive) (any )?(e-?)?mails?\b/i,
      /\b(mx|srv) (or srv )?records? .{0,40}no (smtp|mail|e-?mail) service/i,
    ],
  },
  {
    reason: 'mailbox-full',
    texts: [
      /(mail ?(box|folder|drop|dir)|inbox|account|recipient|user|folder)\S{0,3}( \S{1,80}){0,3} full\b/i,
      /\bfull (mail ?box|inbox)|out of (storage|mailbox) space/i,
      /\bover (the |its |their |his )?(allotted |allowed |disk |storage |mailbox )?-?quota/i,
      /(quota|storage|allocation|disk ?space).{0,30}(exceed|full|exhaust|reach|violat)/i,
      /(exceed|reach)\w{0,5}.{0,40}\b(quota|storage (allocation|limit|space)|mailbox (size|limit|capacity))/i,
      /(exceed|reach|over|above)\w{0,5} .{0,30}\b(disk|storage|mail ?box|inbox|account|folder) (space|allocation|limit|size|capacity|usage|allowance)/i,
      /mailbox (size|limit) .{0,20}(exceed|reach)|mailbox exceeds|recipient's mailbox exceeded/i,
      phrasePattern(
        mailbox,
        '.{0,40}(no|not|insufficient|out of|lacks) ',
        spareWords,
        spareWords,
        '(space|storage|room)\\b',
      ),
      /(insufficient|not enough|no) (\w{1,20} )?(space|storage|room) (left )?(in|on|for) (the |this |user|recipient|his )?.{0,20}(mail ?box|inbox|account|folder|user)/i,
      /(boîte|boite|messagerie|espace) .{0,40}(pleine?|satur)|(postfach|mailbox|konto) .{0,30}(voll|überfüllt|überschritten)/i,
      /(buz[oó]n|casilla|cuenta) .{0,20}(llen|exced)|(casella|spazio) .{0,20}(pien|esaurit|superat)/i,
      /(caixa|conta) .{0,30}(chei|lotad|exced)|(ящик|квота) .{0,30}(переполнен|превышен)/i,
      /メールボックスが(一杯|いっぱい)|容量.{0,20}(超|一杯)|(邮箱|空间|容量).{0,12}(已满|不足|超)|용량.{0,12}초과/,
    ],
  },
  {
    reason: 'mailbox-disabled',
    texts: [
      phrasePattern(mailbox, gap, linkingVerb, ' ', inactiveWords),
      phrasePattern('\\b', inactiveWords, ' (recipient|mail ?box|account|user|address)'),
      phrasePattern(mailbox, '.{0,60}\\binactivity'),
      /(mail ?box|user|recipient|account|address)\b.{0,30}(cannot|can.t|can not|unable to|not able to|refuses to|no longer) (accept|receiv)\w{0,3} (any |new )?(e-?mail|mail|message)s?\b(?!.{0,30}(from|time|moment|size|larger|your))/i,
      /(compte|bo[iî]te) .{0,20}(desactiv|désactiv|suspendu)|(konto|postfach) .{0,20}(gesperrt|deaktiviert)/i,
      /(cuenta|conta|casella|buz[oó]n) .{0,20}(d?es(h?abilit|ativ|activ)|disabilit|disattiv|suspen|sospes|inactiv|inativ)/i,
      /(ящик|аккаунт|пользователь) .{0,20}(заблокирован|отключ|неактив)|(邮箱|帐号|账号|用户).{0,8}(停用|禁用|冻结|锁定)/,
    ],
  },
  {
    reason: 'bad-domain',
    texts: [
      /(unknown|no such|invalid|illegal|bad|unresolvable|un-?routeable|undefined|non-?existent) (recipient |address |mail |e-?mail |destination |remote )?(host|domain)\b/i,
      /all relevant mx records point/i,
    ],
  },
  {
    reason: 'bad-domain',
    texts: [/\b(domain|host( ?name)?|mx) (name )?look-?up (has )?fail/i],
    when: { codes: [512, 550, 553, 554, 556] },
  },
  {
    reason: 'bad-mailbox',
    texts: [
      // The adjective comes first.
      phrasePattern(
        '(?<!sender |from )\\b(unknown|unrecogni[sz]ed|invalid|illegal|wrong|incorrect|bad|non-?exist[ae]nt|no such|undefined|inexistent|unrouteable|undeliverable) ',
        '(local |final |virtual |gateway |e-?mail |mail |destination |delivery |smtp |recipient |rcpt )?',
        mailboxNoun,
        '(?! ?(name|id)? ?(or|and|/) ?pass| domain| syntax| format| ip|.{0,40}(from|sender|header|helo|mail from)\\b)',
      ),
      /no such (address|name)|no valid recipients/i,
      phrasePattern(
        '\\bno (?:\\w{1,20} ){0,2}',
        '(mail[ -]?box|account|user|recipient|person|alias)\\S{0,3} (available|here|by|with|of|for|found|named|exists?|matching|under|at|on|in|like)\\b(?! (enough|your))',
      ),
      /there is no (\w{1,20} )?(account|user|mailbox|such)|(doesn.t|does not|do not|don.t) have an? (\S{1,80} )?(account|mail ?box)\b/i,
      /\bhas no (such )?(account|mail ?box|user)\b/i,
    ],
  },
  {
    reason: 'bad-mailbox',
    texts: [
      // The noun comes first.
      phrasePattern(mailbox, gap, ' (?:', negation, ')(?: \\w{1,20})? exist'),
      phrasePattern(mailbox, gap, linkingVerb, ':? ', absentWords),
      phrasePattern(mailbox, gap, ' (?:could not|couldn.t|cannot|can.t|can not|not) be (?:found|located|identified)'),
      phrasePattern(mailbox, gap, linkingVerb, ' ', goneWords),
      phrasePattern(
        '(?:not|isn.t|is no|no longer) (?:an? |one of |our )?(?:currently )?(valid|known|existing|registered|active|working|deliverable|legitimate|recogni[sz]ed|real|current) (?:(?!ip|mx|dns|sender|return|host|server|client|from)\\w{1,20} )?',
        '(?:user|mail ?box|recipient|account|address)',
      ),
      /(could ?n[o']t|cannot|can.t|can not|unable to|failed to) (find|locate|identify|match) (\S{1,40} ){0,3}(user|mail ?box|recipient|account|addressee|alias|person)\b/i,
      /not (our|a) customer|\bunrouteable address|^\W{0,20}invalid recipient|<> invalid address/i,
      /\b(bad|invalid|unknown|no[_ ]such)[_-]?(recipient|rcpt|user|mailbox|address)\b|badrcptto|\buser[_-]?(unknown|not[_-]?found)\b/i,
    ],
  },
  {
    reason: 'bad-mailbox',
    texts: [
      /(destinataire|adresse|utilisateur|compte|boîte|usager) .{0,30}(inconnue?|invalide|inexistante?|introuvable|n.existe)/i,
      /(empf[aä]nger|benutzer|postfach|konto|adresse) .{0,30}(unbekannt|existiert nicht|existiert|nicht (gefunden|vorhanden)|ungültig)/i,
      /(usuario|destinatario|buz[oó]n|cuenta|direcci[oó]n|casilla) .{0,20}(no existe|desconocid|inexistente|inv[aá]lid|no encontrad|no v[aá]lid)/i,
      /(usu[aá]rio|destinat[aá]rio|caixa|conta|endere[cç]o) .{0,20}(n[aã]o existe|desconhecid|inexistente|inv[aá]lid|n[aã]o encontrad)/i,
      /(utente|destinatario|casella|indirizzo) .{0,20}(sconosciut|inesistente|non esiste|non trovat|non valid)/i,
      /(gebruiker|postbus|adres|ontvanger) .{0,20}(onbekend|bestaat niet|niet gevonden)|(użytkownik|skrzynka|adres|odbiorca) .{0,20}(nie istnieje|nieznan)/i,
      /(пользовател|ящик|адресат|получател|адрес)\S{0,3} .{0,20}(не (существует|найден|зарегистрирован)|неизвест)/i,
      /(宛先|あて先|ユーザー?|メールアドレス).{0,20}(見つかり|存在し|不明|登録されて)|ディレクトリのリストにありません/,
      /(收件人|用户|邮箱|帐号|账号|地址).{0,12}(不存在|无效|未找到)|(수신자|사용자|계정|메일).{0,20}(존재하지|찾을 수)/,
    ],
  },
  {
    // Hotmail, GMX, and the example text of RFC 5321 for 550.
    reason: 'bad-mailbox',
    texts: [
      /(mailbox|account|user|recipient) (is )?(unavailable|not available)(?!.{0,40}(access denied|try|temporar|busy|lock|block))/i,
    ],
    when: { codes: [550, 551, 553, 554] },
  },
  {
    // Exchange Online's edge blocking sends only this for an unknown recipient.
    reason: 'bad-mailbox',
    texts: [/recipient address(es)? rejected ?: access denied/i],
    when: { status: '4.1' },
  },
  {
    // Cisco's recipient table.
    reason: 'bad-mailbox',
    texts: [/^\W{0,20}(<> {0,4}\W{0,20})?address rejected/i],
    when: { status: '1.', stages: ['rcpt'], codes: [550] },
  },
  {
    // A look-up failed on their side and must be repeated. That is no verdict on the domain, whatever the code is.
    reason: 'dns',
    texts: [
      /host not found,? (please )?try again|\bservfail\b|(temporary|transient) .{0,30}\b(dns|name server|look-?up|resol)/i,
      /\b(dns|name server|look-?up|resol\w{1,6})\b.{0,80}(temporar|transient|try again|timed? ?out)/i,
    ],
    temporary: true,
  },
  {
    reason: 'bad-domain',
    texts: [
      /(host|domain|mail exchanger|mx)\b( (?!try)\S{1,80}){0,4} (unknown|not found|nonexist|(doesn.t|does not) (exist|resolve))/i,
      /(unknown|no such|invalid|illegal|unresolvable) (host|domain|destination system|mail exchanger)/i,
      /could ?n[o']t find (a|any) (mail exchanger|host|mx)|no (mx|mail exchanger|a) (record|host|found|for)|find any host/i,
      /no (mail )?(hosts?|servers?|exchangers?) (found |known |listed )?for (the |this )?domain|\bnxdomain\b/i,
      /bad destination system|(point|points) to non-?existent hosts|name or service not known|(not|n.t) be found in (the )?(dns|domain name)/i,
      /(malformed|invalid|unexpected) (or unexpected )?(name ?server|dns) (reply|data|answer|response)/i,
      /^\W{0,20}(\w[\w-]{0,62}\.){1,8}[a-z]{2,24}\W{0,3} (does not|doesn.t) (exist|resolve)/i,
    ],
  },
  {
    // Exim puts this after the last error, which may say why.
    reason: 'expired',
    texts: [/retry time-?out exceeded/i],
  },
]

/** Matches one part after another, in upper or lower case. */
function phrasePattern(...parts: readonly string[]): RegExp {
  return new RegExp(parts.join(''), 'i')
}
