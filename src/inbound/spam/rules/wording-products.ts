/** Rules on products that are typically offered in unsolicited mail. */
import { type SpamRule, wordingRule } from './spam-rule.js'

export const productWording: readonly SpamRule[] = [
  wordingRule(
    'WARE_MORTGAGE',
    1.9,
    'the text offers loans on a house',
    /\b(?:mortgage|re-?financ\w+|home (?:equity|loan|owner)s?|home ?owners?|interest rates?|lenders?)\b.{0,300}\b(?:rates?|loans?|lenders?|equity|qualif\w+|quote|payments?|credit)\b/,
  ),
  wordingRule(
    'WARE_DEBT',
    1.3,
    'the text offers help with debts or credit',
    /\b(?:consolidat\w+ (?:your |all )?(?:debts?|bills|loans?)|debt (?:consolidation|relief|free|reduction|elimination)|bad credit|credit (?:repair|report|problems|rating|history|score)|out of debt|(?:your|eliminate|reduce) (?:\w+ )?debts?|bankruptcy|unsecured|pre-?approved|collect(?:ion agenc|ing) ?\w* ?judgments?|(?:payday|personal|student|business|cash) loans?)\b/,
  ),
  wordingRule(
    'WARE_INCOME',
    2,
    'the text promises an easy income',
    /\b(?:work(?:ing)? (?:from|at) home|home[- ]based business|extra (?:income|cash|money)|financial(?:ly)? (?:freedom|independen\w+|secur\w+)|(?:be|own) your own boss|own boss|make (?:\w+ )?money|(?:earn|make|making|earning) (?:up to |over |as much as |at least |an? (?:extra|additional) |from )?\$ ?\d|residual income|(?:six|five)[- ]figure|multi[- ]?level|\bmlm\b|down ?line|network marketing|business opportunit(?:y|ies)|income (?:opportunity|potential|stream)|\$ ?\d[\d,.]*k? (?:a|per|each|every|\/) ?(?:day|week|month|hour)|get rich|millionaires?|part[- ]time (?:income|job))\b/,
  ),
  wordingRule(
    'WARE_INVESTMENT',
    1,
    'the text offers shares or investments',
    /\b(?:strong buy|stock (?:alert|pick|profile|market|symbol)|penny stocks?|otc ?(?:bb|:)|investor alert|forward[- ]looking statements|(?:high|huge|massive) (?:returns?|yield|profits?)|offshore|return on (?:your )?investment|investment opportunit\w+|(?:bitcoin|crypto\w*|forex|trading) (?:profits?|investment|platform|bot|signals?)|target price|undervalued)\b/,
  ),
  wordingRule(
    'WARE_MEDICINE',
    1.1,
    'the text offers medicines',
    /\b(?:v[i1!|]agra|c[i1!|]al[i1!|]s|levitra|xenical|phentermine|propecia|valium|xanax|vicodin|tramadol|ambien|celebrex|zyban|online pharmac\w+|pharmac(?:y|ies) (?:online|store)|no prescription|without (?:a )?prescription|prescription (?:drugs?|medications?|needed|required)|doctor'?s? (?:visit|appointment)|fda[- ]approved|on-?line (?:doctors?|prescriptions?))\b/,
  ),
  wordingRule(
    'WARE_BODY',
    2.1,
    'the text offers to improve the body',
    /\b(?:los(?:e|ing) (?:\w+ ){0,2}(?:weight|pounds|lbs|inches|fat)|weight[- ]loss|diet (?:pills?|patch)|fat (?:loss|burn\w+)|burn(?:s|ing)? (?:\w+ )?fat|metaboli\w+|h\.?g\.?h\b|human growth|growth hormone|anti[- ]aging|aging process|wrinkles?|hair loss|bigger (?:breasts?|penis)|(?:penis|breast|male) enlarg\w+|enlarge (?:your|my)|herbal|all[- ]natural|dietary supplement|cellulite|keto|libido|sex drive|sexual (?:desire|performance|potency|stamina)|erection|stop smoking)\b/,
  ),
  wordingRule(
    'WARE_SEX',
    0.5,
    'the text offers sex',
    /\b(?:porn\w*|xxx\b|hard-?core|teens? (?:girls?|sluts?|sex)|sluts?|nude|naked|horny|adult (?:sites?|dvds?|videos?|entertainment|content|dating|webcam\w*|only|oriented)|adults only|live (?:sex|girls|cams?)|webcams?|hot (?:girls?|teens?|wom[ae]n|babes?|chicks)|sexy|sex (?:toys?|tapes?|videos?|partners?)|fuck\w*|cum\b|orgasms?|18 (?:years|or older|and older|\+)|over (?:18|21) (?:years|to)|must be (?:at least )?(?:18|21)|(?:lonely|cheating) (?:wives|wife|housewives)|escorts?|meet (?:local |hot )?(?:singles|women|girls)|singles)\b/,
  ),
  wordingRule(
    'WARE_GAMBLING',
    0.4,
    'the text offers gambling',
    /\b(?:casinos?|gambling|black ?jack|roulette|slot machines?|poker (?:room|online)|bet(?:ting)? online|sports ?book|free (?:chips|spins)|bingo)\b/,
  ),
  wordingRule(
    'WARE_DEGREE',
    2,
    'the text offers degrees or diplomas',
    /\b(?:university (?:diplomas?|degrees?)|(?:diplomas?|degrees?) (?:from|in) (?:a )?(?:prestigious|non-?accredited|\d)|non-?accredited|bachelor'?s?,? master'?s?|life experience|no (?:required )?(?:tests|classes|exams)|earn (?:a|your) (?:\w+ )?(?:degree|diploma))\b/,
  ),
  wordingRule(
    'WARE_INSURANCE',
    1,
    'the text offers insurance',
    /\b(?:(?:life|term|health|auto|car|home) insurance|insurance (?:quotes?|rates?|premiums?|polic(?:y|ies)|companies|agents?)|extended warrant(?:y|ies)|annuit(?:y|ies)|commissions?|warranty (?:expir\w+|coverage))\b/,
  ),
  wordingRule(
    'WARE_GOODS',
    1,
    'the text offers copied or cheap goods',
    /\b(?:replica|rolex|designer (?:watches|bags)|luxury watch\w*|inkjet|ink ?jet|toner|(?:printer )?cartridges?|copy (?:any )?dvds?|dvd (?:copy|burn)\w*|cable (?:box|descrambler|tv)|descrambl\w+|satellite (?:tv|dish|system)|spy ?(?:cam\w*|ware|software)|detective|long[- ]distance|cents? (?:a|per) minute|phone (?:cards?|bill|service)|cigarettes?|cellular|cell phones?|vacations?|cruise|time ?share|oem software|original software|web ?hosting|norton systemworks)\b/,
  ),
  wordingRule(
    'WARE_SERVICES',
    1.2,
    'the text offers services for businesses',
    /\b(?:your (?:web ?site|business|company|product)(?:'s)? (?:to|on|in|with|is|can|will|more)|web ?site (?:design|traffic|promotion)|(?:increase|boost|grow|double|explode) (?:your )?(?:sales|business|traffic|income|profits?|revenue|customers|ranking)|first page of google|seo services?|marketing (?:tool|campaign|program|system|service)s?|advertis(?:e|ing) (?:your|to|campaign|rates)|leads\b|prospects?\b|customers worldwide)/,
  ),
]
