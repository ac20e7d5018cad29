/** The words that people most often choose as a password, or as the beginning of one, in lower case and without accents. */

const SERVICE = `admin administrator postmaster posthorn webmaster hostmaster root user guest default service server
  system manager support office computer internet network windows linux ubuntu debian oracle cisco google facebook
  microsoft amazon samsung apple iphone android yahoo gmail hotmail outlook youtube instagram twitter linkedin netflix
  spotify playstation nintendo xbox minecraft pokemon email mail smtp database backup`

const SECRET = `password passwort passphrase passcode kennwort motdepasse contrasena senha parola wachtwoord secret
  geheim private access login logon letmein openup welcome willkommen bienvenue changeme change temp temporary
  testing test tester sample example demo trustno nothing something whatever anything forgot unknown hello hallo bonjour
  hola iloveyou loveyou loveme lovely love liebe amour sweetheart darling honey baby babygirl princess prince angel
  abcdef qwert asdf zxcv`

const THINGS = `summer winter spring autumn herbst sommer fruhling monday tuesday wednesday thursday friday saturday
  sunday january february march april may june july august september october november december sunshine rainbow
  sunflower flower flowers butterfly dragon monkey tiger lion eagle falcon panther dolphin horse mustang pony kitty kitten
  cat cats dog dogs puppy bear turtle spider scorpion phoenix unicorn shadow star stars starlight moon moonlight galaxy
  universe ocean river island mountain thunder lightning storm fire diamond silver golden gold crystal chocolate cookie
  cheese banana orange cherry strawberry peanut pepper ginger coffee pizza purple yellow green black white blue red`

const PLAY = `football fussball soccer baseball basketball hockey golf tennis volleyball softball swimming skateboard snowboard
  cricket rugby boxing wrestling racing ferrari porsche mercedes bmw audi corvette camaro harley yamaha honda toyota nissan
  chelsea arsenal liverpool manchester united barcelona madrid juventus bayern dortmund schalke cowboys steelers yankees
  lakers eagles rangers warriors packers patriots superman batman spiderman ironman starwars startrek pirate wizard merlin
  gandalf matrix zelda mario sonic hunter killer master ninja warrior knight soldier player gamer winner champion legend
  hero boss king queen freedom power forever lucky happy music guitar metallica slipknot eminem blink rockstar`

const NAMES = `michael michelle jennifer jessica ashley amanda daniel daniela david andrew andrea anthony alexander
  alexandra robert thomas george charlie charles william matthew joshua justin jordan jackson nicole nicola stephanie
  samantha elizabeth victoria hannah maggie sophie martin martina peter patrick richard joseph christian christina
  sebastian benjamin maria maverick tigger buster bailey cooper harry potter jesus christ heaven london paris berlin
  hamburg munich vienna zurich amsterdam newyork chicago dallas america canada australia germany deutschland france
  england mexico brasil india russia turkey jasmine amber lauren taylor tyler family mother father brother sister`

export const commonWords: readonly string[] = [SECRET, SERVICE, THINGS, PLAY, NAMES].flatMap((words) =>
  words.split(/\s+/),
)

/** Characters that lie side by side on a keyboard or in the alphabet. People type parts of them, in both directions. */
export const keyRows: readonly string[] = [
  ...['qwertyuiop', 'qwertzuiop', 'azertyuiop', 'asdfghjkl', 'qsdfghjklm', 'zxcvbnm', 'yxcvbnm', 'wxcvbn'],
  ...['abcdefghijklmnopqrstuvwxyz', 'qazwsxedcrfvtgbyhnujmikolp', 'qayswxedcrfvtgbzhnujmikolp'],
  ...['1qaz2wsx3edc4rfv5tgb6yhn7ujm8ik9ol0p', '1qay2wsx3edc4rfv5tgb6zhn7ujm8ik9ol0p'],
  ...['1q2w3e4r5t6y7u8i9o0p', '1q2w3e4r5t6z7u8i9o0p', 'q1w2e3r4t5y6u7i8o9p0', 'q1w2e3r4t5z6u7i8o9p0'],
]
