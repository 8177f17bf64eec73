// Stands in for a coding agent, so that the demo needs no key and no account. Like one, it first believes the obvious:
// that the dangerous name comes first. Its second attempt reads the feedback.
'use strict';
const fs = require('fs');

const source = fs.readFileSync('index.js', 'utf8');
const loop = '            var key = keys[i];\n';
const last = '        var key = keys[keys.length - 1];\n';

function replace(text, from, to) {
  if (!text.includes(from)) throw new Error('index.js is not the version I know');
  return text.replace(from, to);
}

function obvious() {
  const start = '        var o = obj;\n        for (var i = 0; i < keys.length-1; i++) {\n';
  return replace(source, start, "        if (keys[0] === 'constructor' || keys[0] === 'prototype') return;\n" + start);
}

function thorough() {
  const check = "isConstructorOrProto(o, key)";
  let text = replace(source, loop + "            if (key === '__proto__') return;\n", loop + `            if (${check}) return;\n`);
  text = replace(text, last + "        if (key === '__proto__') return;\n", last + `        if (${check}) return;\n`);
  return text + '\n// A function that is reached by its name leads to a prototype that all objects share.\n' +
    'function isConstructorOrProto (obj, key) {\n' +
    "    return (key === 'constructor' && typeof obj[key] === 'function') || key === '__proto__';\n}\n";
}

const feedback = process.env.PAWL_FEEDBACK;
if (!feedback) {
  console.log(`goal: ${process.env.PAWL_GOAL}`);
  console.log('I refuse options that begin with "constructor" or "prototype".');
  fs.writeFileSync('index.js', obvious());
} else {
  const { failing_signals: failing, summary } = JSON.parse(fs.readFileSync(feedback, 'utf8'));
  console.log(`attempt ${process.env.PAWL_ATTEMPT}: ${failing.join(', ')} failed:\n${summary}`);
  console.log('The name can come at any place of the path. I check every step of it.');
  fs.writeFileSync('index.js', thorough());
}
