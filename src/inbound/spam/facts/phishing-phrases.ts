/**
 * Phrases by which fraud asks for something, in the languages that it is mostly written in: patterns over the
 * beginning and the end of a message in lower case (`SpamFacts.lowerText`, 8,000 characters).
 *
 * Honest services use many of them too, since fraud imitates those: alone they say little.
 */
import { type WordedText, type Wording, wording } from './wording.js'

/** Other words that may stand between words that belong together. */
const upToWords = (count: number): string => `(?:[\\wà-ÿ'-]{1,20} ){0,${count}}`
const wordPattern = (...all: readonly string[]): RegExp => new RegExp(`(?<![\\wà-ÿ])(?:${all.join('|')})(?![\\wà-ÿ])`)

const accountPhrases =
  /\b(?:(?:verify|confirm|update|validate|restore|reactivate|unlock) (?:your|the) (?:\w+ )?(?:account|identity|information|billing|details|password|mailbox|payment|e-?mail)|your (?:\w+ )?(?:account|mailbox|password|e-?mail) (?:has been |was |is |will be |is about to )?(?:suspended|limited|locked|blocked|disabled|deactivated|expir\w+|restricted|compromised|terminated|full)|unusual (?:sign-?in|log-?in|activity)|mailbox (?:quota|storage)|avoid (?:suspension|termination|deactivation))\b/

/** The same in Portuguese, Spanish, French, German, Italian, Dutch. */
const foreignAccountPhrases = wordPattern(
  `(?:atualiz(?:e|ar)|confirm(?:e|ar)|verifi(?:que|car)|valid(?:e|ar)|regulariz(?:e|ar)|desbloque(?:ie|ar)) (?:(?:o|a|os|as|seus?|suas?) ){1,2}(?:conta|cadastro|dados|senha|cpf|acesso|identidade|cart[ãa]o|e-?mail)`,
  `(?:conta|acesso|cart[ãa]o|cpf|cadastro|senha) ${upToWords(3)}(?:bloquead[oa]|suspens[oa]|cancelad[oa]|expirad[oa]|irregular|vencid[oa]|restrit[oa])`,
  `(?:actuali[cz](?:e|ar?)|confirm(?:e|ar?)|verifi(?:que|car?)|valid(?:e|ar?)|desbloque(?:e|ar?)) (?:(?:sus?|tus?|la|los) ){1,2}(?:cuenta|datos|informaci[óo]n|identidad|tarjeta|contrase[ñn]a|correo)`,
  `(?:cuenta|tarjeta|acceso|contrase[ñn]a|buz[óo]n) ${upToWords(3)}(?:bloquead[oa]|suspendid[oa]|limitad[oa]|cancelad[oa]|caduc(?:a|ad[oa]|ar[áa])|restringid[oa]|desactivad[oa])`,
  `(?:confirm|v[ée]rifi|valid|actualis|r[ée]activ|mettre [àa] jour|mettez [àa] jour)(?:er|ez)? (?:vos|votre) (?:compte|identit[ée]|informations|coordonn[ée]es|carte|donn[ée]es|adresse|acc[èe]s)`,
  `(?:compte|carte|acc[èe]s|bo[îi]te|mot de passe) ${upToWords(4)}(?:suspendue?|bloqu[ée]e?|limit[ée]e?|d[ée]sactiv[ée]e?|expir[ée]e?|restreinte?)`,
  `(?:best[äa]tigen|verifizieren|aktualisieren|[üu]berpr[üu]fen|entsperren|reaktivieren) sie (?:bitte )?(?:ihr(?:e|en)?|die|das) ${upToWords(1)}(?:konto|daten|identit[äa]t|angaben|zugang|passwort|karte|pushtan|telefonnummer|kontodaten|zahlungsdaten)`,
  `(?:konto|zugang|karte|passwort|postfach|pushtan|girokonto|kreditkarte|online-banking) ${upToWords(4)}(?:gesperrt|eingeschr[äa]nkt|deaktiviert|ausgesetzt|blockiert|limitiert|abgelaufen)`,
  `(?:conferm(?:a|are|i)|verific(?:a|are|hi)|aggiorn(?:a|are|i)|convalid(?:a|are)|sblocc(?:a|are)) (?:(?:il|la|i|le|suoi?|sua|sue|tuoi?|tua|tue) ){1,2}(?:account|conto|dati|identit[àa]|informazioni|carta|password|profilo|utenza)`,
  `(?:conto|carta|utenza|casella|password|account|profilo) ${upToWords(3)}(?:sospes[oa]|bloccat[oa]|limitat[oa]|disattivat[oa]|scadut[oa])`,
  `(?:bevestig|verifieer|controleer|activeer) (?:uw|je) ${upToWords(1)}(?:account|gegevens|identiteit|rekening|betaalpas|wachtwoord)`,
  `(?:account|rekening|betaalpas|bankpas|wachtwoord|mailbox) ${upToWords(4)}(?:geblokkeerd|opgeschort|beperkt|verlopen|gedeactiveerd)`,
)
const japaneseAccountPhrases =
  /(?:アカウント|カード|口座|パスワード|会員|お支払い|ご利用)[^。\n]{0,24}(?:制限|停止|ロック|認証|失効|異常|不正|ご確認|更新)|本人確認/

const mailboxPhrases = wordPattern(
  `(?:pending|undelivered|held|quarantined|unreceived|delayed|suspended) (?:incoming )?(?:messages?|e-?mails?|mails)`,
  `(?:messages?|e-?mails?|mails) (?:are|were|have been|has been|is) (?:currently )?(?:pending|held|undelivered|delayed|on hold|quarantined|withheld)`,
  `(?:release|retrieve|review|recover) ${upToWords(2)}(?:pending|held|undelivered|quarantined|incoming|blocked) ${upToWords(1)}(?:messages?|e-?mails?|mails)`,
  `(?:mailbox|e-?mail|inbox|webmail|mail) (?:quota|storage|size|box)? ?(?:is|has|limit) ${upToWords(3)}(?:full|exceeded|reached|used up)`,
  `(?:keep|use|using|retain|continue with) ${upToWords(2)}(?:same|current|existing) password`,
  `password ${upToWords(4)}(?:expires?|expired|expiring|expiration) ?(?:today|now|soon|in|on|within)?`,
  `(?:webmail|mailbox) (?:administrator|admin|support|upgrade|deactivation|verification|termination|update|service)`,
)

const documentPhrases = wordPattern(
  `(?:new|secure|encrypted|missed) (?:voice ?mail|voice message|audio message|fax|document)`,
  `(?:shared|sent) ${upToWords(4)}(?:document|file|invoice|fax|proposal|contract) ${upToWords(2)}with you`,
  `(?:view|review|open|access|preview|download) (?:the |your |shared |secure |full )?(?:document|fax|voicemail|voice message|pdf|scanned document|remittance)`,
  `(?:document|contract|agreement|file)s? ${upToWords(3)}(?:for|awaiting|requires?|pending) ${upToWords(1)}(?:signature|review|approval)`,
)

const protectionPhrases = wordPattern(
  `(?:anti-?virus|virus protection|protection|firewall|device security) ${upToWords(4)}(?:expired|expires|ended|ends|outdated|disabled|lapsed)`,
  `(?:computer|device|pc|phone|iphone|mac) ${upToWords(4)}(?:infected|at risk|unprotected|vulnerable|hacked)`,
  `(?:cloud|icloud|cloud storage|storage) ${upToWords(4)}(?:full|expired|blocked|suspended)`,
  `(?:photos|videos|photos and videos) ${upToWords(6)}(?:deleted|lost|erased|removed)`,
  `(?:viruses|threats|trojans?|malware) (?:were |have been |was )?(?:found|detected) on your`,
)

const walletPhrases = wordPattern(
  `(?:connect|verify|validate|synchronize|sync|migrate|restore|secure|unlock|update|activate) (?:your |the )?${upToWords(1)}wallets?`,
  `(?:seed|recovery|secret|secret recovery) phrase`,
  `(?:claim|receive|eligible for) ${upToWords(4)}(?:airdrop|tokens?|btc|eth|bitcoin|crypto)`,
  `wallet ${upToWords(4)}(?:suspended|restricted|verification|validation|deactivated|compromised|upgrade)`,
  `(?:btc|bitcoin|eth|usdt) ${upToWords(6)}(?:withdrawal|deposited|payout|transferred to you)`,
)

const rewardPhrases = wordPattern(
  `claim (?:your|the|it|my) ${upToWords(3)}(?:rewards?|gift|prize|bonus|refund|package|winnings)`,
  `(?:short|quick|brief|simple|anonymous|30[- ]second|customer|satisfaction) ${upToWords(1)}survey ${upToWords(12)}(?:reward|gift|prize|win|receive|free|bonus|chance)`,
  `(?:exclusive|loyalty|special|surprise) reward`,
  `you(?:'ve| have|'re| are)? ${upToWords(2)}(?:been )?(?:selected|chosen) (?:to|for|as|by)`,
  `(?:points?|pontos|puntos|punkte|punti|milhas) ${upToWords(6)}(?:expir\\w{1,8}|vencem|vencer|caducan|verfallen|scadono|resgat\\w{1,6})`,
  `(?:resgat(?:e|ar)|canje(?:e|ar)|einl[öo]sen|r[ée]clam(?:er|ez)) ${upToWords(4)}(?:pontos|puntos|pr[êe]mio|premio|gewinn|cadeau|recompensa|b[ôo]nus)`,
  `(?:tax|fiscal) refund ${upToWords(6)}(?:claim|submit|pending|eligible|process)`,
)

const parcelPhrases = wordPattern(
  `(?:parcel|package|shipment|delivery) ${upToWords(6)}(?:on hold|pending|held|suspended|unpaid|customs|could not be|undeliverable|returned to)`,
  `(?:unpaid|outstanding|pending) (?:customs|shipping|delivery|import|toll) (?:fees?|charges?|dut(?:y|ies))`,
  `(?:sendung|paket|lieferung) ${upToWords(6)}(?:nicht zugestellt|zollgeb[üu]hr(?:en)?|angehalten|zur[üu]ckgehalten|wartet)`,
  `zollgeb[üu]hr(?:en)?`,
  `(?:colis|livraison) ${upToWords(6)}(?:en attente|suspendue?|bloqu[ée]e?|en souffrance)`,
  `frais de (?:livraison|douane|r[ée]exp[ée]dition)`,
  `(?:paquete|env[íi]o|pacote|encomenda) ${upToWords(6)}(?:pendiente|retenid[oa]|retid[oa]|pendente|aduanas?|alf[âa]ndega|taxad[oa])`,
  `(?:pacco|spedizione) ${upToWords(6)}(?:in attesa|sospes[oa]|in giacenza|bloccat[oa])`,
  `pakket ${upToWords(6)}(?:wacht|vastgehouden|niet bezorgd|douanekosten)`,
)

const paymentPhrases = wordPattern(
  `(?:payment|transaction|billing|card) ${upToWords(3)}(?:declined|failed|unsuccessful|problem|issue|not be processed|on hold|rejected)`,
  `(?:subscription|membership|renewal|order) ${upToWords(8)}(?:charged|debited|deducted|auto-?renew(?:ed|al)?)`,
  `(?:if you did not|if you didn't|to cancel|to dispute) ${upToWords(8)}(?:call|contact|helpline|toll)`,
  `(?:overdue|unpaid|outstanding|past due) (?:invoice|balance|payment|bill)`,
  `(?:remittance|swift copy|wire transfer|proof of payment|payment advice)`,
)

/** Phrases of urgency: they say what happens unless something is done soon. */
export const hasUrgentPhrase = wording(
  wordPattern(
    `within (?:the next )?(?:12|24|36|48|72) ?(?:hours|hrs|h)`,
    `(?:final|last|urgent) (?:notice|warning|reminder|chance|alert)`,
    `(?:immediate|urgent) (?:action|attention|response)`,
    `action (?:is )?required`,
    `(?:permanently|automatically) (?:deleted|closed|suspended|terminated|deactivated|disabled|blocked|locked)`,
    `(?:em|nas pr[óo]ximas|en|en las pr[óo]ximas|dans les|sous|innerhalb von|binnen|entro|binnen) (?:24|48|72) ?(?:h|horas?|heures?|stunden|ore|uur)`,
    `(?:[úu]ltimo aviso|dernier (?:rappel|avis)|letzte (?:mahnung|erinnerung|warnung)|ultimo avviso|laatste (?:herinnering|waarschuwing))`,
  ),
)

/** Requests to scan a code. */
export const qrCodePhrases =
  /\bqr[ -]?codes?\b|\bscan (?:[\w'-]{1,12} ){0,6}(?:code|camera|phone)\b|\bc[óo]digo qr\b|\bcode scannen\b|\bqrコード/

/** Reasons for scanning that are typical of fraud: to log in, not to board. */
export const loginPhrases =
  /\b(?:2fa|mfa|two[- ]factor|multi[- ]factor|authenticat\w{1,8}|password|credentials?|log ?in|sign ?in|verify|security (?:update|verification|policy)|payroll|salary|benefits?|review (?:the |your )?document|docusign|passwort|contrase[ñn]a|senha|mot de passe)\b/

export type PhishingTopic =
  | 'account'
  | 'account abroad'
  | 'mailbox'
  | 'document'
  | 'protection'
  | 'wallet'
  | 'reward'
  | 'parcel'
  | 'payment'

const isForeignAccount = wording(foreignAccountPhrases)

const phishingPhrases: readonly (readonly [PhishingTopic, Wording])[] = [
  ['account', wording(accountPhrases)],
  ['account abroad', (text) => isForeignAccount(text) || japaneseAccountPhrases.test(text.text)],
  ['mailbox', wording(mailboxPhrases)],
  ['document', wording(documentPhrases)],
  ['protection', wording(protectionPhrases)],
  ['wallet', wording(walletPhrases)],
  ['reward', wording(rewardPhrases)],
  ['parcel', wording(parcelPhrases)],
  ['payment', wording(paymentPhrases)],
]

export function findPhishingTopics(text: WordedText): ReadonlySet<PhishingTopic> {
  return new Set(phishingPhrases.flatMap(([topic, isSaid]) => (isSaid(text) ? [topic] : [])))
}
