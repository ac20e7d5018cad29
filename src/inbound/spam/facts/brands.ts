/**
 * Names that fraud imitates, and the domains that their owners send from. Data only.
 *
 * Each row: names as people know them, then labels of own domains (`paypal` stands for paypal.com, paypal.co.uk and so
 * on; see `isOwnDomain`). Names whose joined form is a label need not repeat it. `common` marks names that are also
 * words or names of people: they count only next to a service word.
 */

export interface Brand {
  /** Names in lower case. A name may have several words with blanks between them. */
  readonly names: readonly string[]
  /** The labels before the public suffix of its own domains. */
  readonly labels: ReadonlySet<string>
  readonly common: boolean
}

const distinctBrands = `
microsoft, microsoft 365, office 365, office365, onedrive, sharepoint, microsoft teams : microsoftonline office outlook live hotmail sharepointonline azure windows xbox skype microsoftstoreemail onmicrosoft
google, google play, google drive, youtube : gmail googlemail googlegroups android googleusercontent googleapis withgoogle
icloud, apple id, app store, apple pay, apple support : apple itunes me mac
amazon, amazon prime, prime video : amazonaws amazonses aws a2z audible media-amazon primevideo
paypal : paypalobjects xoom
netflix : netflixstudios nflxext
spotify : scdn
disney plus, disney+ : disneyplus disney disneyaccount
hbo max : hbomax max hbo
facebook, instagram, whatsapp : facebookmail meta metamail fb fbcdn cdninstagram
linkedin : licdn lnkd
tiktok : bytedance
dropbox : dropboxmail hellosign dropboxusercontent
docusign : docusign
adobe, acrobat sign, adobe sign : adobesign acrobat
godaddy : secureserver
namecheap : privateemail
hostinger : hostinger
hostgator : hostgator
bluehost : bluehost
ionos : 1and1
ovhcloud : ovh
strato ag : strato
cpanel : cpanel
roundcube : roundcube
zimbra : zimbra synacor
mcafee : mcafeemail
norton lifelock, nortonlifelock, norton antivirus, norton 360 : norton gen gendigital lifelock symantec
kaspersky : kaspersky
bitdefender : bitdefender
totalav : totalav
geek squad, geeksquad, best buy : bestbuy bestbuyinfo
dhl, dhl express, dhl paket, deutsche post : dpdhl dhl-news deutschepost
fedex : fedexcares
usps, us postal service, united states postal service : usps
royal mail : royalmail
dpd : dpdgroup dpdlocal geopost
evri : hermes myhermes
chronopost, la poste, colissimo : laposte laposte-info
la banque postale : labanquepostale
correos : correosexpress
poste italiane, postepay, bancoposta : poste posteitaliane
postnl : postnl
bpost : bpost
swiss post, die post : post swisspost
australia post, auspost : auspost
canada post, postes canada : canadapost canadapost-postescanada postescanada
correios : correios
wells fargo : wellsfargo wf wellsfargoemail
bank of america : bankofamerica bofa bofaml ml merrill
jpmorgan, jp morgan, chase bank : chase jpmchase jpmorganchase
citibank, citi bank : citi citicorp
capital one : capitalone
american express, amex : americanexpress aexp
us bank, u.s. bank : usbank
navy federal, navy federal credit union : navyfederal nfcu
hsbc : hsbcgroup
barclays, barclaycard : barclays
lloyds bank : lloydsbank lloydsbanking lloydsbankinggroup
natwest : natwestgroup
santander : gruposantander bancosantander santanderbank
bbva : bbvanet
caixabank : lacaixa
commerzbank : comdirect
deutsche bank : db deutsche-bank
postbank : postbank
targobank : targobank
bnp paribas : bnpparibas bnpparibasfortis
credit agricole : credit-agricole ca
societe generale : socgen sg societegenerale
caisse d'epargne, caisse depargne : caisse-epargne groupebpce
boursorama, boursobank : boursorama
intesa sanpaolo : intesasanpaolo
unicredit : unicreditgroup
nexi : nexigroup
rabobank : rabobank
abn amro : abnamro
belfius : belfius
postfinance : postfinance
raiffeisen : rbinternational raiffeisenbank
itau, banco itau : itau-unibanco itauunibanco
bradesco : bradescoseguros
banco do brasil : bb
caixa economica : caixa
nubank : nu
livelo : pontoslivelo
serasa : serasaexperian experian
bancolombia : grupobancolombia
scotiabank : scotiabankmail
desjardins : desjardins
interac : payments
commonwealth bank, commbank, netbank : cba
westpac : westpacgroup
absa : absabank
nedbank : nedbankgroup
mastercard : mastercardservices
coinbase : coinbase
binance : binance
metamask : consensys
trust wallet : trustwallet
trezor : satoshilabs
ledger live, ledger wallet : ledger
blockchain.com : blockchain
crypto.com : crypto
opensea : opensea
walmart : walmartlabs
costco, costco wholesale : costcophotocenter
walgreens : walgreensboots
cvs, cvs pharmacy : cvshealth
home depot, the home depot : homedepot
sam's club, sams club : samsclub
kohl's, kohls : kohls
dick's sporting goods : dickssportinggoods
harbor freight : harborfreight
ace hardware : acehardware
lidl : lidl
aldi : aldi-sued aldi-nord
kaufland : kaufland
ikea : ingka
ebay : ebayinc
alibaba, aliexpress : alibaba-inc
mercado livre, mercado libre, mercado pago : mercadolivre mercadolibre mercadopago
zalando : zalando
decathlon : decathlon
verizon, verizon wireless : verizonwireless vzw
at&t, att mail : att attmail
t-mobile : telekom
xfinity, comcast : xfinity comcast
vodafone : vodafonemail
movistar : telefonica
bouygues telecom : bouyguestelecom
telstra : bigpond
rackspace : emailsrvr
internal revenue service, irs : irs
hmrc, hm revenue : hmrc
social security administration : ssa
finanzamt, elster : elster bund bundesfinanzministerium
agenzia delle entrate, agenzia entrate : agenziaentrate
impots.gouv, ameli, assurance maladie : impots ameli
agencia tributaria : agenciatributaria
receita federal : fazenda receita
booking.com : booking
airbnb : airbnbmail
playstation : sony sonyentertainmentnetwork
roblox : roblox
epic games : epicgames unrealengine
state farm : statefarm
aarp : aarp
rakuten : rakuten-card
aeon card, aeon : aeon aeonbank
smbc, smbc card, mitsui sumitomo : smbc-card smbcnikko vpass
mufg : mufgcard
jcb, my jcb : myjcb
eki-net, ekinet : eki-net jreast
docomo : nttdocomo
shopify : shopifyemail
mailchimp : intuit mandrillapp
wetransfer : wetransfer
venmo : venmo
zelle : zellepay
cash app : cash square squareup
quickbooks, turbotax : intuit
`

const commonBrands = `
apple : itunes icloud
outlook : microsoft office live hotmail
chase : jpmchase jpmorganchase
citi : citibank citicorp
target : targetcircle
discover : discovercard
ups : upsemail
visa : visa
meta : facebook facebookmail metamail
zoom : zoomgov
steam : steampowered steamcommunity valvesoftware
kraken : payward
phantom : phantom
exodus : exodus
ally : ally
wise : transferwise
revolut : revolut
orange : orange-business wanadoo
telekom : t-online magenta t-systems
lowe's, lowes : lowes
yeti : yeti
stripe : stripe
xbox : microsoft
telegram : telegram
uber : ubereats
avast : gendigital
norton : nortonlifelock gen gendigital
twitter : x
key bank : key keybank
td bank : td tdbank
bmo : bmo
rbc : royalbank
anz : anz
nab : nab
fnb : fnb
webmail : webmail
`

function parseBrands(lines: string, common: boolean): readonly Brand[] {
  return lines
    .trim()
    .split('\n')
    .map((line) => {
      const [named = '', labels = ''] = line.split(' : ')
      const names = named.split(',').map((name) => name.trim())
      const joined = names.map((name) => name.replace(/[^a-z0-9]/g, ''))
      return { names, labels: new Set([...labels.trim().split(/\s+/), ...joined]), common }
    })
}

/**
 * Names that many independent banks share. Each of these banks has its own domain with the name in it, so a domain
 * with the name in a label is taken for one of theirs.
 */
export const sharedBankNames: ReadonlySet<string> = new Set(['sparkasse', 'volksbank', 'raiffeisenbank', 'vr bank'])

export const brands: readonly Brand[] = [...parseBrands(distinctBrands, false), ...parseBrands(commonBrands, true)]
