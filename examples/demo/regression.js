// Fails on a library that lets a command line reach a prototype; `node regression.js` in the library's folder.
'use strict';
const parse = require(process.cwd());

const attacks = [
  ['--__proto__.polluted', 'yes'],
  ['--constructor.prototype.polluted', 'yes'],
  ['--_.constructor.constructor.prototype.polluted', 'yes'],
  ['--_.concat.constructor.prototype.polluted', 'yes'],
];

let failed = 0;
for (const attack of attacks) {
  parse(attack);
  const polluted = {}.polluted || function () {}.polluted || [].polluted;
  if (!polluted) continue;
  failed += 1;
  console.log(`not safe: ${attack.join(' ')} changes a prototype`);
  for (const shared of [Object.prototype, Function.prototype, Array.prototype]) delete shared.polluted;
}
console.log(failed ? `${failed} of ${attacks.length} attacks work` : `${attacks.length} attacks do nothing`);
process.exit(failed ? 1 : 0);
