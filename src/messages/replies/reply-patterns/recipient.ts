/** The mailbox and its domain. Only here can a reply suppress an address: keep these narrow. */
import type { ReplyPattern } from './pattern.js'

/** Not ours: "your account is suspended" comes from a smarthost and must kill no recipient. */
const theirs = "(?<!\\b(your|our|sender|sender's|sending|source|from|client|ip|host|server|return|mx|dns|smtp|login) )"
const mailbox = `${theirs}\\b(user|mail ?box|recipient|account|alias|addressee|member|customer|address|inbox)\\S{0,3}`
const inactive =
  '(disabled|suspended|de-?activated|inactive|frozen|locked|discontinued|closed|expired|terminated|not active|dormant)'
const kind = '(local |final |virtual |gateway |e-?mail |mail )?'

/** One alternative after another, as one case-insensitive pattern. */
function words(...parts: readonly string[]): RegExp {
  return new RegExp(parts.join(''), 'i')
}

export const patternsOfRecipient: readonly ReplyPattern[] = [
  {
    reason: 'expired',
    texts: [
      /(message|envelope|delivery time) expired|retry time-?out exceeded|failing for a long time/i,
      /(queue|retention) (time|lifetime) (expired|exceeded)|after multiple retries/i,
    ],
  },
  { reason: 'null-mx', texts: [/null ?mx|(host|domain)\S* (does not accept|accepts no) (any )?(e-?)?mail\b/i] },
  { reason: 'too-large', texts: [/RecipSizeLimit/] },
  {
    reason: 'mailbox-full',
    texts: [
      /(mail ?(box|folder|drop|dir)|inbox|account|recipient|user|folder)\S{0,3}( \S+){0,3} full\b/i,
      /\bfull (mail ?box|inbox)|out of (storage|mailbox) space/i,
      /\bover (the |its |their |his )?(allotted |disk |storage |mailbox )?-?quota/i,
      /(quota|storage|allocation|disk ?space).{0,30}(exceed|full|exhaust|reach)/i,
      /(exceed|reach)\w*.{0,40}\b(quota|storage (allocation|limit|space)|mailbox (size|limit|capacity))/i,
      /mailbox (size|limit) .{0,20}(exceed|reach)|mailbox exceeds|QuotaExceeded|recipient's mailbox exceeded/i,
      /bo[iî]te .{0,40}pleine|postfach .{0,30}voll|buz[oó]n .{0,20}lleno|casella .{0,20}piena/i,
      /caixa (postal )?cheia/i,
      /メールボックスが一杯|\b(OFR|LPN\d*)_417\b/,
    ],
  },
  {
    reason: 'mailbox-disabled',
    texts: [
      words(mailbox, '( \\S+){0,6} (is|are|was|were|has been) (\\w+ )?', inactive),
      words(theirs, '\\b(mail ?box|account|user|recipient) ', inactive),
      words('\\b', inactive, ' (recipient|mail ?box|account|user|address)'),
      /compte .{0,20}(desactiv|désactiv|suspendu)|konto .{0,20}(gesperrt|deaktiviert)/i,
    ],
  },
  {
    reason: 'bad-mailbox',
    texts: [
      // Adjective first.
      words(
        '(unknown|unrecogni[sz]ed|invalid|non-?exist[ae]nt|no such|undefined|inexistent) ',
        kind,
        '(user|mail ?box|recipient|account|alias|addressee|local[- ]part|person)',
      ),
      /unknown (destination )?address|no such (address|name)|invalid (e-?mail|mail|destination|delivery) address/i,
      /no (mailbox|account|user|recipient)s? (here|by|with|of|for|found|named|exists)|no valid recipients/i,
      /there is no (\w+ )?(account|user|mailbox|such)|(doesn.t|does not) have an? \S{1,80} account/i,
    ],
  },
  {
    reason: 'bad-mailbox',
    texts: [
      // Noun first.
      words(mailbox, "( \\S+){0,6} (doesn.t|does n[o']t|do(es)? not|didn.t|did not) exist"),
      words(
        mailbox,
        '( <>\\S?)? (is |was |are |has been )?(unknown|not (found|known|listed|recogni[sz]ed|exist|be found))',
      ),
      words(mailbox, '( \\S+){0,4} (could not be found|couldn.t be found)'),
      words(mailbox, '( \\S+){0,4} no longer (on|valid|available|exists|in use|here|with)'),
      words(
        '(not|isn.t|is no|no longer) (a |an )?(valid|known|existing|registered) (\\w+ )?',
        '(user|mail ?box|recipient|account|address)',
      ),
      words(mailbox, ' (not in (our|the|this)|non-?exist[ae]nt|not listed in)'),
      /not our customer/i,
      /Recip(ient)?NotFound|NoSuchUser|unrouteable address|^\W*invalid recipient|<> invalid address/i,
    ],
  },
  {
    reason: 'bad-mailbox',
    texts: [
      /destinataire (inconnu|invalide)|adresse .{0,30}(inconnue|invalide)|utilisateur inconnu/i,
      /empf[aä]nger .{0,20}(unbekannt|existiert)|usuario (desconocido|no existe|inexistente)/i,
      /usu[aá]rio (desconhecido|inexistente|n[aã]o)|utente sconosciuto|destinatario (sconosciuto|desconocido)/i,
      /宛先.{0,12}(見つかり|存在し)|ディレクトリのリストにありません|\b(OFR|LPN\d*)_416\b/,
    ],
  },
  {
    // Hotmail, GMX and the text that RFC 5321 itself gives 550.
    reason: 'bad-mailbox',
    texts: [/mailbox (is )?(unavailable|not available)(?!.{0,40}(access denied|try|temporar|busy|lock|block))/i],
    when: { codes: [550, 551, 553, 554] },
  },
  {
    // Exchange Online's edge blocking says only this of an unknown recipient.
    reason: 'bad-mailbox',
    texts: [/recipient address(es)? rejected ?: access denied/i],
    when: { status: '4.1' },
  },
  {
    // Cisco's recipient table.
    reason: 'bad-mailbox',
    texts: [/^\W*(<> *\W*)?address rejected/i],
    when: { status: '1.', stages: ['rcpt'], codes: [550] },
  },
  {
    reason: 'bad-domain',
    texts: [
      /(host|domain|mail exchanger|mx)\b( \S+){0,4} (unknown|not found|nonexist|(doesn.t|does not) exist)/i,
      /(unknown|no such|invalid|illegal|unresolvable) (host|domain|destination system|mail exchanger)/i,
      /could ?n[o']t find (a|any) (mail exchanger|host|mx)|no (mx|mail exchanger) (record|host)|find any host/i,
      /bad destination system|(point|points) to non-?existent hosts|InfoDomainNonexistent/i,
    ],
  },
]
